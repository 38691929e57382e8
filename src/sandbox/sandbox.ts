import { InvalidArgumentError, TemplateError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { isVersionAtLeast } from "../protocol/daemon-version.js";
import { portUrl, toHost } from "../protocol/edge-url.js";
import type { SandboxIsolation } from "../protocol/isolation-types.js";
import type { SandboxInfo, SandboxQuery } from "../protocol/lifecycle-types.js";
import type { NetworkLogEntry, NetworkUpdate, SandboxNetwork } from "../protocol/network-client.js";
import { DAEMON_PORT, preloadDaemonCalls } from "../protocol/platform.js";
import type { CommandSet } from "../shared/command-definition.js";
import { pickRequest } from "../shared/pick-request.js";
import { assertText } from "../shared/text-check.js";
import { type ConnectionOptions, type RequestOptions, resolveConfig } from "../transport/config.js";
import type { Code, RunCodeOptions } from "./code/code.js";
import type { Execution } from "./code/execution.js";
import type { Commands } from "./commands.js";
import { assertIsolated, type SandboxBoundaryOptions } from "./create-isolated.js";
import { createOrUndo } from "./create-or-undo.js";
import { type FileUrlOptions, toFileUrl } from "./file-url.js";
import type { Files } from "./files.js";
import type { SandboxLifecycleOptions, SandboxOnResume } from "./lifecycle-options.js";
import type { CommandInfo, CommandListOptions, NamedRunOptions, TypedCommands } from "./named-commands.js";
import type { Network, NetworkLogOptions } from "./network.js";
import { openNetwork, openPlatform, openSandboxParts, type SandboxParts } from "./open-sandbox.js";
import { checkLifeMs, checkSandboxId, requireLifeMs } from "./options.js";
import { Paginator } from "./paginator.js";
import type { Pty } from "./pty.js";
import { toConnectSpec, toSpec } from "./sandbox-spec.js";
import { SandboxStates } from "./sandbox-states.js";

/** How a sandbox is made. */
export interface SandboxCreateOptions extends ConnectionOptions, SandboxBoundaryOptions {
  /** Id or alias. @defaultValue {@link Sandbox.defaultTemplate} */
  readonly template?: string | undefined;
  /** Milliseconds of life; `lifecycle` says what happens when they are over. @defaultValue the server's, 300_000 */
  readonly timeoutMs?: number | undefined;
  /** Labels for finding it again. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Environment of every process; `undefined` values are left out. */
  readonly envs?: Readonly<Record<string, string | undefined>> | undefined;
  /** Let it reach the internet. @defaultValue the server's */
  readonly allowInternetAccess?: boolean | undefined;
  /** What happens at its end of life. @defaultValue it is killed */
  readonly lifecycle?: SandboxLifecycleOptions | undefined;
  /** Rules for its traffic. @defaultValue everything public may be reached, and every port is open to who knows it */
  readonly network?: SandboxNetwork | undefined;
}

/** How a sandbox is prolonged, or woken. */
export interface WakeOptions {
  /** Milliseconds of life from now, at least: a longer life is never shortened. @defaultValue the server's, 300_000 */
  readonly timeoutMs?: number | undefined;
  /** How a paused one is woken. @defaultValue "restore", with its memory */
  readonly onResume?: SandboxOnResume | undefined;
}

/** How a sandbox is joined. */
export interface SandboxConnectOptions extends ConnectionOptions, WakeOptions {}

/** How a sandbox is copied. */
export interface SandboxForkOptions {
  /** Milliseconds of life of each copy. @defaultValue the server's, 300_000 on ours */
  readonly timeoutMs?: number | undefined;
  /** Number of copies, 1 to 100. @defaultValue 1 */
  readonly count?: number | undefined;
}

/** Copies of a sandbox; where one could not be made, its error. */
export interface SandboxForks<T extends Sandbox> extends Array<T | SandboxError> {
  /** The copies have the memory of the source, its running processes; false when they started from its files. */
  readonly memory: boolean;
}

/** Which sandboxes are listed, and how. */
export interface SandboxListOptions extends ConnectionOptions {
  readonly query?: SandboxQuery | undefined;
  /** By start time. @defaultValue "desc", newest first */
  readonly order?: "asc" | "desc" | undefined;
  /** Sandboxes per page, 1 to 100. @defaultValue 100 */
  readonly limit?: number | undefined;
  /** Where an earlier list with the same query and order stopped. */
  readonly nextToken?: string | undefined;
}

/** A list of sandboxes, loaded page by page. */
export type SandboxPaginator = Paginator<SandboxInfo>;

/** A class whose instances are sandboxes: {@link Sandbox} or one derived from it. */
export type SandboxClass<T extends Sandbox> = (new (parts: SandboxParts) => T) & { readonly defaultTemplate?: string };

/** `this` of a static factory: the class that it is called on, or nothing once it was taken off its class. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that is called without an object has exactly this type of `this`
export type FactoryThis<T extends Sandbox> = SandboxClass<T> | void;

/** Daemons below this version speak another protocol. */
const OLDEST_DAEMON = "0.1.0";

/**
 * An isolated machine for untrusted work: its identity, its life, and the namespaces `files`, `commands`, `pty`, `code` and `network`.
 *
 * Make one with {@link Sandbox.create}, which owns it (`await using` kills it at the end of the block), or join one with
 * {@link Sandbox.connect}, which borrows it.
 */
export class Sandbox extends SandboxStates {
  /** Template of creations that name none. */
  static readonly defaultTemplate: string = "base";

  readonly sandboxId: string;
  /** Domain of its host names. */
  readonly sandboxDomain: string;
  readonly files: Files;
  readonly commands: Commands;
  readonly pty: Pty;
  readonly network: Network;
  readonly code: Code;
  // Private, so that no credential shows up when the object is printed or serialised.
  readonly #parts: SandboxParts;

  /** @internal */
  constructor(parts: SandboxParts) {
    super(parts);
    this.#parts = parts;
    this.sandboxId = parts.access.sandboxId;
    this.sandboxDomain = parts.access.domain ?? parts.platform.config.domain;
    this.files = parts.files;
    this.commands = parts.commands;
    this.pty = parts.pty;
    this.network = parts.network;
    this.code = parts.code;
  }

  /**
   * Make a sandbox and resolve when it answers.
   *
   * With neither a key nor a URL configured this is the platform on this machine, which is started when it does not run yet.
   *
   * @throws {@link TemplateError} no such template; {@link AuthenticationError} the key is missing or unknown;
   * {@link RateLimitError} too many sandboxes; {@link ServiceBusyError} no capacity; {@link FailedPreconditionError} this
   * machine is not prepared (the message says how); {@link TimeoutError} no answer within `requestTimeoutMs`.
   */
  static create<T extends Sandbox = Sandbox>(this: FactoryThis<T>, options?: SandboxCreateOptions): Promise<T & AsyncDisposable>;
  static create<T extends Sandbox = Sandbox>(
    this: FactoryThis<T>,
    template: string,
    options?: SandboxCreateOptions,
  ): Promise<T & AsyncDisposable>;
  static async create<T extends Sandbox = Sandbox>(
    this: FactoryThis<T>,
    templateOrOptions?: string | SandboxCreateOptions,
    more?: SandboxCreateOptions,
  ): Promise<T & AsyncDisposable> {
    const options = typeof templateOrOptions === "string" ? { ...more, template: templateOrOptions } : (templateOrOptions ?? more ?? {});
    // biome-ignore lint/complexity/noThisInStatic: a derived class has its own template
    const spec = toSpec(options, this?.defaultTemplate ?? Sandbox.defaultTemplate);
    const platform = await openPlatform(options);
    const creating = createOrUndo(platform.lifecycle, spec, pickRequest(options));
    preloadDaemonCalls();
    const access = await creating;
    if (!isVersionAtLeast(access.envdVersion, OLDEST_DAEMON)) {
      await platform.lifecycle.kill(access.sandboxId, {});
      throw new TemplateError(`template ${spec.template} has a daemon of version ${access.envdVersion}, which is too old: rebuild it`, {
        operation: "sandbox.create",
      });
    }
    if (spec.minimumIsolation !== undefined) await assertIsolated(platform.lifecycle, access, spec.minimumIsolation, pickRequest(options));
    // biome-ignore lint/complexity/noThisInStatic: a derived class makes its own instances
    const sandbox = newInstance(this, openSandboxParts(platform, access));
    Object.defineProperty(sandbox, Symbol.asyncDispose, { value: async () => void (await sandbox.kill()) });
    return sandbox as T & AsyncDisposable; // the line above
  }

  /**
   * Join a sandbox and prolong its life to at least `timeoutMs` from now; a paused one is resumed.
   *
   * @throws {@link SandboxNotFoundError} there is none with this id, or it ended.
   */
  static async connect<T extends Sandbox = Sandbox>(
    this: FactoryThis<T>,
    sandboxId: string,
    options: SandboxConnectOptions = {},
  ): Promise<T> {
    const spec = toConnectSpec(options);
    checkSandboxId(sandboxId);
    const platform = await openPlatform(options);
    const connecting = platform.lifecycle.connect(sandboxId, spec, pickRequest(options));
    preloadDaemonCalls();
    const access = await connecting;
    // biome-ignore lint/complexity/noThisInStatic: a derived class makes its own instances
    return newInstance(this, openSandboxParts(platform, access));
  }

  /** List sandboxes. Nothing is asked before the first page is. */
  static list(options: SandboxListOptions = {}): SandboxPaginator {
    const { query, order, limit } = options;
    if (limit !== undefined && (!Number.isInteger(limit) || limit < 1 || limit > 100)) {
      throw new InvalidArgumentError(`limit must be a whole number between 1 and 100, not ${String(limit)}`);
    }
    // A wrong setting is told here and not at the first page.
    resolveConfig(options);
    return new Paginator(async (nextToken, call) => {
      const request = { ...pickRequest(options), ...call };
      const { lifecycle } = await openPlatform({ ...options, ...request });
      return lifecycle.list({ query, order, limit, nextToken, ...request });
    }, options.nextToken);
  }

  /** Copy a running sandbox by id; see the method of an instance. */
  static async fork<T extends Sandbox = Sandbox>(
    this: FactoryThis<T>,
    sandboxId: string,
    options: ConnectionOptions & SandboxForkOptions = {},
  ): Promise<SandboxForks<T>> {
    checkSandboxId(sandboxId);
    // biome-ignore lint/complexity/noThisInStatic: a derived class makes its own instances
    return forkOn(this, await openPlatform(options), sandboxId, options);
  }

  /** Kill a sandbox by id. False when there was none. */
  static async kill(sandboxId: string, options: ConnectionOptions = {}): Promise<boolean> {
    checkSandboxId(sandboxId);
    const { lifecycle } = await openPlatform(options);
    return lifecycle.kill(sandboxId, pickRequest(options));
  }

  /** Set the end of a sandbox's life to `timeoutMs` from now, nearer or further; `0` ends it. */
  static async setTimeout(sandboxId: string, timeoutMs: number, options: ConnectionOptions = {}): Promise<void> {
    const lifeMs = requireLifeMs(timeoutMs);
    checkSandboxId(sandboxId);
    const { lifecycle } = await openPlatform(options);
    await lifecycle.setTimeout(sandboxId, lifeMs, pickRequest(options));
  }

  /** Describe a sandbox. @throws {@link SandboxNotFoundError} there is none with this id, or it ended. */
  static async getInfo(sandboxId: string, options: ConnectionOptions = {}): Promise<SandboxInfo> {
    checkSandboxId(sandboxId);
    const { lifecycle } = await openPlatform(options);
    return lifecycle.getInfo(sandboxId, pickRequest(options));
  }

  /** Tell how a sandbox is isolated. @throws {@link SandboxNotFoundError} it ended, or the server does not tell. */
  static async getIsolation(sandboxId: string, options: ConnectionOptions = {}): Promise<SandboxIsolation> {
    checkSandboxId(sandboxId);
    const { lifecycle } = await openPlatform(options);
    return lifecycle.getIsolation(sandboxId, pickRequest(options));
  }

  /** Replace the rules for outgoing traffic of a sandbox; see {@link Network.update}. */
  static async updateNetwork(sandboxId: string, rules: NetworkUpdate, options: ConnectionOptions = {}): Promise<void> {
    checkSandboxId(sandboxId);
    await (await openNetwork(sandboxId, options)).update(rules, pickRequest(options));
  }

  /** What a sandbox tried to reach; see {@link Network.log}. */
  static async getNetworkLog(sandboxId: string, options: ConnectionOptions & NetworkLogOptions = {}): Promise<readonly NetworkLogEntry[]> {
    checkSandboxId(sandboxId);
    return (await openNetwork(sandboxId, options)).log({ ...pickRequest(options), limit: options.limit });
  }

  /** Token for ports that are not public; absent where all are. */
  get trafficAccessToken(): string | undefined {
    return this.#parts.access.trafficAccessToken;
  }

  /** Prolong the life to at least `timeoutMs` from now, and resume a paused sandbox. */
  async connect(options: RequestOptions & WakeOptions = {}): Promise<this> {
    await this.#parts.platform.lifecycle.connect(this.sandboxId, toConnectSpec(options), pickRequest(options));
    return this;
  }

  /**
   * Make copies of the sandbox, each with an id, a token and a life of its own. It runs on; `memory` of the result says whether the copies
   * have its processes or started from its files.
   */
  async fork(options: RequestOptions & SandboxForkOptions = {}): Promise<SandboxForks<this>> {
    return forkOn(this.constructor as SandboxClass<this>, this.#parts.platform, this.sandboxId, options);
  }

  /** Kill the sandbox and everything in it. False when it was gone already. */
  async kill(options: RequestOptions = {}): Promise<boolean> {
    return this.#parts.platform.lifecycle.kill(this.sandboxId, options);
  }

  /** Set the end of its life to `timeoutMs` from now, nearer or further; `0` ends it. */
  async setTimeout(timeoutMs: number, options: RequestOptions = {}): Promise<void> {
    await this.#parts.platform.lifecycle.setTimeout(this.sandboxId, requireLifeMs(timeoutMs), options);
  }

  /** The same as `network.update`, by its E2B-shaped name. */
  async updateNetwork(rules: NetworkUpdate, options: RequestOptions = {}): Promise<void> {
    await this.network.update(rules, options);
  }

  /** Run a named command; see `run` of {@link NamedCommands}. For lines of a shell there is `commands.run`. */
  run(name: string, args?: Readonly<Record<string, unknown>>, options?: NamedRunOptions): Promise<unknown> {
    return this.#parts.named.run(name, args, options);
  }

  /** List the named commands; see `list` of {@link NamedCommands}. */
  listCommands(options?: CommandListOptions): Promise<CommandInfo[]> {
    return this.#parts.named.list(options);
  }

  /** The named commands, with the types of `typeof commands` of the server that runs in the sandbox. */
  named<C extends CommandSet>(): TypedCommands<C> {
    return this.#parts.named as unknown as TypedCommands<C>; // the caller's word; arguments are checked where the command runs
  }

  /** Describe the sandbox as it is now. */
  async getInfo(options: RequestOptions = {}): Promise<SandboxInfo> {
    return this.#parts.platform.lifecycle.getInfo(this.sandboxId, options);
  }

  /** Tell how the sandbox is isolated, and what is not protected. @throws {@link SandboxNotFoundError} it ended, or the server does not tell. */
  async getIsolation(options: RequestOptions = {}): Promise<SandboxIsolation> {
    return this.#parts.platform.lifecycle.getIsolation(this.sandboxId, options);
  }

  /** Whether it answers. False when it ended or is paused. @throws {@link ConnectionError} the platform cannot be reached. */
  async isRunning(options: RequestOptions = {}): Promise<boolean> {
    return this.#parts.isHealthy(options);
  }

  /** The same as `code.run`, by its E2B-shaped name. */
  async runCode(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    return this.code.run(code, options);
  }

  /** Host name under which a port of the sandbox is reached. */
  getHost(port: number): string {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new InvalidArgumentError(`port must be a whole number between 1 and 65535, not ${String(port)}`);
    }
    return toHost(port, this.sandboxId, this.sandboxDomain);
  }

  /** A URL to which a file can be posted without a token, until it expires. Without `path` the form field names the file. */
  uploadUrl(path?: string, options: FileUrlOptions = {}): Promise<string> {
    return this.#fileUrl("write", path, options);
  }

  /** A URL from which a file can be read without a token, until it expires. */
  downloadUrl(path: string, options: FileUrlOptions = {}): Promise<string> {
    assertText("path", path);
    return this.#fileUrl("read", path, options);
  }

  #fileUrl(operation: "read" | "write", path: string | undefined, options: FileUrlOptions): Promise<string> {
    const { access, platform } = this.#parts;
    const baseUrl = portUrl(DAEMON_PORT, platform.config, access);
    return toFileUrl({ operation, path, baseUrl, accessToken: access.accessToken }, options);
  }
}

async function forkOn<T extends Sandbox>(
  Class: FactoryThis<T>,
  platform: SandboxParts["platform"],
  sandboxId: string,
  options: RequestOptions & SandboxForkOptions,
): Promise<SandboxForks<T>> {
  const copies = { timeoutMs: checkLifeMs(options.timeoutMs), count: options.count };
  const { copies: made, memory } = await platform.states.fork(sandboxId, copies, pickRequest(options));
  const forks = made.map((copy) => (SandboxError.isInstance(copy) ? copy : newInstance(Class, openSandboxParts(platform, copy))));
  return Object.assign(forks, { memory });
}

function newInstance<T extends Sandbox>(Class: FactoryThis<T>, parts: SandboxParts): T {
  // A static method that was taken off its class has no `this`; it then makes plain sandboxes, which is what T is by default.
  return new (Class ?? (Sandbox as unknown as SandboxClass<T>))(parts);
}
