import type { RouteHandlers } from "./built-in-routes.js";
import { createArchiveHandler } from "./handlers/archive.js";
import { createBrowserHandlers } from "./handlers/browser.js";
import { createCodeHandler } from "./handlers/code.js";
import { createCommandHandlers } from "./handlers/commands.js";
import { createCoreHandlers } from "./handlers/core.js";
import { createFileHandlers } from "./handlers/files.js";
import { createGitHandlers } from "./handlers/git.js";
import { createPackagesHandler } from "./handlers/packages.js";
import { createProcessHandlers } from "./handlers/processes.js";
import { createSearchHandler } from "./handlers/search.js";
import { createShellHandlers } from "./handlers/shell.js";
import { createSystemHandlers } from "./handlers/system.js";
import { createTerminalHandlers } from "./handlers/terminals.js";
import type { ServerServices } from "./services.js";

/** The handlers of all routes of the contract. */
export function createRouteHandlers(services: ServerServices): RouteHandlers {
  return {
    ...createCoreHandlers(services),
    ...createCommandHandlers(services),
    ...createFileHandlers(services),
    ...createSearchHandler(services),
    ...createArchiveHandler(services),
    ...createShellHandlers(services),
    ...createProcessHandlers(services),
    ...createTerminalHandlers(services),
    ...createSystemHandlers(services),
    ...createPackagesHandler(services),
    ...createCodeHandler(services),
    ...createGitHandlers(services),
    ...createBrowserHandlers(services),
  };
}
