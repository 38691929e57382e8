/** Entry `@agent-sandbox/sdk/server`: the container-side runtime and its command registry. */
export { CommandArgumentError, CommandNotFoundError } from "../errors/named-command-errors.js";
export type { ArgumentSpec, ArgumentSpecs, ArgumentType, ArgumentValue } from "../shared/command-arguments.js";
export type {
  ArgumentInput,
  ArgumentValues,
  Command,
  CommandContext,
  CommandSet,
  ProgressOf,
  ResultOf,
} from "../shared/command-definition.js";
export { CAPABILITY_GROUPS, type CapabilityGroup } from "./capability-groups.js";
export { type CommandOptions, command, defineCommands } from "./define-commands.js";
export { type CustomRoute, defineRoute, type RouteResult, ServerAnswer, type ServerEvent, type ServerRequest } from "./route.js";
export type { RouteMethod } from "./route-pattern.js";
export type { ServerOptions } from "./server-config.js";
export { type CommandServer, startServer } from "./start-server.js";
