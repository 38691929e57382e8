import { InvalidArgumentError, ProtocolError } from "../errors/error-classes.js";
import { CommandArgumentError, CommandNotFoundError, toUnknownCommand } from "../errors/named-command-errors.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { NamedCommandClient, ServerTarget } from "../protocol/named-command-client.js";
import { isNoServer } from "../protocol/no-command-server.js";
import { fromReadableStream } from "../shared/byte-stream.js";
import { type CommandArgument, toArgumentValues } from "../shared/command-arguments.js";
import type { ArgumentInput, CommandSet, CommandShape, ProgressOf, ResultOf } from "../shared/command-definition.js";
import { CUSTOM_COMMANDS_FILE, type CustomCommand, parseCustomCommands, toShellLine } from "../shared/custom-commands.js";
import { messageOf } from "../shared/message-of.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import type { Commands } from "./commands.js";
import type { Files } from "./files.js";

/** Which command server is meant. */
export interface CommandServerOptions {
  /** Port inside the sandbox. @defaultValue 9000 */
  readonly port?: number | undefined;
  /** What the server wants in `X-Access-Token`. @defaultValue the token of servers that `startCommandServer` starts */
  readonly serverToken?: string | undefined;
}

/** How the named commands are listed. */
export interface CommandListOptions extends RequestOptions, CommandServerOptions {}

/** How a named command is run. */
export interface NamedRunOptions<P = unknown> extends CommandServerOptions {
  /** Milliseconds until the command is given up, and told so. `0` never. @defaultValue 60_000; of a custom command its own */
  readonly timeoutMs?: number | undefined;
  /** Gives the command up, and tells it so. */
  readonly signal?: AbortSignal | undefined;
  /** Called with what the command reports on its way; of a custom command with pieces of its output. It is waited for. */
  readonly onProgress?: ((progress: P) => unknown) | undefined;
}

/** A named command, as lists show it. */
export interface CommandInfo {
  readonly name: string;
  readonly description: string;
  readonly args: readonly CommandArgument[];
  /** `template`: a custom command of template.yaml; `server`: of the program that runs in the sandbox. */
  readonly source: "template" | "server";
  /** A command of the template has the same name, and is run instead. */
  readonly isShadowed: boolean;
}

/** Arguments and options of a call; the arguments may be left out where none is required. */
export type NamedRunArguments<C extends CommandShape> =
  Record<never, never> extends ArgumentInput<C["args"]>
    ? [args?: ArgumentInput<C["args"]>, options?: NamedRunOptions<ProgressOf<C>>]
    : [args: ArgumentInput<C["args"]>, options?: NamedRunOptions<ProgressOf<C>>];

/** Named commands with the types of a server's `typeof commands`. */
export interface TypedCommands<C extends CommandSet> extends Pick<NamedCommands, "list" | "isServing" | "serverEnvs"> {
  /** As {@link NamedCommands.run}. */
  run<N extends keyof C & string>(name: N, ...call: NamedRunArguments<C[N]>): Promise<ResultOf<C[N]>>;
}

const DEFAULT_PORT = 9000;
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_CUSTOM_COMMANDS_BYTES = 1024 * 1024;
/** The variable that command servers read their token from. */
const TOKEN_VARIABLE = "AGENT_SANDBOX_SERVER_TOKEN";

/** The clients below {@link NamedCommands}. */
export interface NamedCommandParts {
  readonly server: NamedCommandClient;
  readonly files: Pick<Files, "read">;
  readonly commands: Pick<Commands, "run">;
}

/** Named commands of one sandbox: custom commands of its template, and those of the command server that runs in it. */
export class NamedCommands {
  readonly #parts: NamedCommandParts;
  #custom: Promise<ReadonlyMap<string, CustomCommand>> | undefined;

  /** @internal */
  constructor(parts: NamedCommandParts) {
    this.#parts = parts;
  }

  /**
   * Run a command and resolve to what it returns: of a command server its result, of a custom command how its program ended.
   *
   * The call owns the command: aborting `signal`, a failing `onProgress` and the end of `timeoutMs` end it. It is never sent twice.
   *
   * @throws {@link CommandNotFoundError} no such command; CommandArgumentError: an argument is missing or wrong; both list what there is.
   * NamedCommandError: it failed; CommandExitError: a custom command did; {@link TimeoutError} it did not end in time;
   * {@link FailedPreconditionError} no command server runs; ConnectionError: the connection broke, and the end is unknown.
   */
  async run(name: string, args: Readonly<Record<string, unknown>> = {}, options: NamedRunOptions = {}): Promise<unknown> {
    assertText("name", name);
    if (name === "") throw new InvalidArgumentError("name must not be empty");
    if (typeof args !== "object" || args === null || Array.isArray(args)) throw new InvalidArgumentError("args must be an object");
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs);
    const { signal, onProgress } = options;
    const target = toTarget(options);
    const custom = await this.#customCommands({ signal });
    const found = custom.get(name);
    if (found !== undefined) return this.#runCustom(found, args, { ...options, timeoutMs });
    const call = { ...target, operation: "sandbox.run", signal, timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS };
    const steps = this.#parts.server.run(name, args, call);
    try {
      for (;;) {
        const step = await steps.next();
        if (step.done) return step.value;
        await onProgress?.(step.value);
      }
    } catch (error) {
      const names = [...custom.keys()];
      const facts = { operation: "sandbox.run", ...(SandboxError.isInstance(error) && error.sandboxId && { sandboxId: error.sandboxId }) };
      if (error instanceof CommandNotFoundError) throw toUnknownCommand(name, [...new Set([...names, ...error.available])], facts);
      if (isNoServer(error) && names.length > 0) throw toUnknownCommand(name, names, { ...facts, cause: error });
      if (isRefusedArgument(error)) throw await this.#withExpected(name, error, target, signal);
      throw error;
    } finally {
      await steps.return(undefined);
    }
  }

  /** All commands that are not hidden, those of the template first. Without a command server those are all. */
  async list(options: CommandListOptions = {}): Promise<CommandInfo[]> {
    const { signal, requestTimeoutMs } = options;
    const target = toTarget(options);
    const [custom, served] = await Promise.all([
      this.#customCommands({ signal, requestTimeoutMs }),
      this.#parts.server.list(target, { signal, requestTimeoutMs }).catch((error: unknown) => {
        if (isNoServer(error)) return [];
        throw error;
      }),
    ]);
    return [
      ...[...custom.values()].map(({ name, description, args }) => ({
        name,
        description,
        args,
        source: "template" as const,
        isShadowed: false,
      })),
      // A server in the same template serves its custom commands too.
      ...served.map((command) => ({ ...command, source: "server" as const, isShadowed: custom.has(command.name) })),
    ];
  }

  /** Whether a command server answers. */
  isServing(options: CommandListOptions = {}): Promise<boolean> {
    const { signal, requestTimeoutMs } = options;
    return this.#parts.server.isServing(toTarget(options), { signal, requestTimeoutMs });
  }

  /** Variables for a command server that is started by hand: with them it answers only who may use this sandbox. */
  async serverEnvs(): Promise<Record<string, string>> {
    const token = await this.#parts.server.token();
    return token === undefined ? {} : { [TOKEN_VARIABLE]: token };
  }

  /** Servers that do not say in their refusal what a command takes do so in their list. */
  async #withExpected(
    name: string,
    error: InvalidArgumentError,
    target: ServerTarget,
    signal: AbortSignal | undefined,
  ): Promise<SandboxError> {
    const listed = await this.#parts.server.list(target, { signal }).catch(() => []);
    const found = listed.find((command) => command.name === name);
    if (found === undefined) return error;
    const argument = /'([^']*)'/.exec(error.message)?.[1] ?? "";
    const { operation = "sandbox.run", sandboxId, statusCode } = error;
    const facts = {
      operation,
      ...(sandboxId && { sandboxId }),
      ...(statusCode && { statusCode }),
      commandName: name,
      argument,
      cause: error,
    };
    return new CommandArgumentError(error.message, { ...facts, expected: found.args });
  }

  async #runCustom(command: CustomCommand, args: Readonly<Record<string, unknown>>, options: NamedRunOptions): Promise<unknown> {
    const { cwd, envs } = command;
    const { signal, onProgress, timeoutMs = command.timeoutMs } = options;
    const line = toShellLine(command, toArgumentValues(command.name, command.args, args));
    return this.#parts.commands.run(line, {
      cwd,
      envs,
      signal,
      timeoutMs,
      ...(onProgress && { onStdout: async (text) => void (await onProgress(text)) }),
    });
  }

  /** They are part of the template, so they are read once. */
  #customCommands(options: RequestOptions): Promise<ReadonlyMap<string, CustomCommand>> {
    this.#custom ??= this.#readCustomCommands(options).catch((error: unknown) => {
      this.#custom = undefined;
      throw error;
    });
    return this.#custom;
  }

  async #readCustomCommands(options: RequestOptions): Promise<ReadonlyMap<string, CustomCommand>> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of fromReadableStream(await this.#parts.files.read(CUSTOM_COMMANDS_FILE, { ...options, format: "stream" }))) {
        text += decoder.decode(chunk, { stream: true });
        if (text.length > MAX_CUSTOM_COMMANDS_BYTES) throw new ProtocolError(`${CUSTOM_COMMANDS_FILE} of the sandbox is above 1 MiB`);
      }
    } catch (error) {
      if (SandboxError.isInstance(error) && (error.reason === "file_not_found" || error.reason === "not_found")) return new Map();
      throw error;
    }
    try {
      const { custom_commands: commands } = JSON.parse(text) as { custom_commands?: unknown };
      return new Map(parseCustomCommands(commands, CUSTOM_COMMANDS_FILE).map((command) => [command.name, command]));
    } catch (cause) {
      const said = messageOf(cause);
      throw new ProtocolError(`the custom commands of the sandbox cannot be understood: ${said}`, { operation: "sandbox.run", cause });
    }
  }
}

function isRefusedArgument(error: unknown): error is InvalidArgumentError {
  return error instanceof InvalidArgumentError && !(error instanceof CommandArgumentError) && error.statusCode === 400;
}

function toTarget({ port = DEFAULT_PORT, serverToken }: CommandServerOptions): ServerTarget {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError(`port must be a whole number between 1 and 65535, not ${String(port)}`);
  }
  if (serverToken !== undefined && !/^[\x21-\x7e]+$/.test(serverToken))
    throw new InvalidArgumentError("serverToken must be printable ASCII");
  return { port, serverToken };
}
