import {
  type FactoryThis,
  type RequestOptions,
  Sandbox as SandboxBase,
  type SandboxClass,
  type SandboxForks,
  type SandboxInfo,
  type SandboxMetrics,
  type SandboxPaginator,
  type SandboxParts,
  type SnapshotInfo,
  type SnapshotPaginator,
} from "../../index.js";
import { type Bound, type ConnectionOpts, withBound } from "./connection.js";
import { Git } from "./git.js";
import { MCP_PORT, MCP_TEMPLATE, readMcpToken, startMcpGateway } from "./mcp-gateway.js";
import { type SandboxNetworkUpdate, toNetwork } from "./network-options.js";
import {
  type CreateSnapshotOpts,
  type SandboxConnectOpts,
  type SandboxForkOpts,
  type SandboxListOpts,
  type SandboxMetricsOpts,
  type SandboxOpts,
  type SandboxPauseOpts,
  type SnapshotListOpts,
  toCreateOptions,
} from "./sandbox-options.js";

/** Our {@link SandboxBase} with the members, options and names that programs for `e2b` know. */
export class Sandbox extends SandboxBase {
  /** Template of a creation with `mcp` that names none; a derived class may have another. */
  protected static readonly defaultMcpTemplate: string = MCP_TEMPLATE;
  /** Options under those of each call: what a class of {@link E2B} is bound to. */
  static readonly boundOpts: ConnectionOpts | undefined = undefined;
  /** @deprecated run git by `commands` */
  readonly git: Git;
  #mcpToken: string | undefined;

  constructor(parts: SandboxParts) {
    super(parts);
    this.git = new Git(this.commands);
  }

  static override create<T extends SandboxBase = Sandbox>(this: FactoryThis<T>, options?: SandboxOpts): Promise<T & AsyncDisposable>;
  static override create<T extends SandboxBase = Sandbox>(
    this: FactoryThis<T>,
    template: string,
    options?: SandboxOpts,
  ): Promise<T & AsyncDisposable>;
  static override async create<T extends SandboxBase = Sandbox>(
    this: FactoryThis<T>,
    templateOrOptions?: string | SandboxOpts,
    more?: SandboxOpts,
  ): Promise<T & AsyncDisposable> {
    const Class = classOf(this);
    const given = typeof templateOrOptions === "string" ? { ...more, template: templateOrOptions } : { ...more, ...templateOrOptions };
    const options = withBound<SandboxOpts>(boundOf(this), given);
    const { mcp, template = mcp === undefined ? Class.defaultTemplate : Class.defaultMcpTemplate } = options;
    const made: unknown = await super.create.call(Class, template, toCreateOptions(options));
    const sandbox = made as T & Sandbox & AsyncDisposable; // made by T's class, which is Sandbox or derived from it
    if (mcp !== undefined) sandbox.#mcpToken = await startMcpGateway(sandbox, mcp);
    return sandbox;
  }

  static override async connect<T extends SandboxBase = Sandbox>(
    this: FactoryThis<T>,
    sandboxId: string,
    options?: SandboxConnectOpts,
  ): Promise<T> {
    return super.connect.call(classOf(this), sandboxId, withBound(boundOf(this), options)) as Promise<SandboxBase> as Promise<T>; // as above
  }

  static override async fork<T extends SandboxBase = Sandbox>(
    this: FactoryThis<T>,
    sandboxId: string,
    options?: SandboxForkOpts,
  ): Promise<SandboxForks<T>> {
    const forks: unknown = await super.fork.call(classOf(this), sandboxId, withBound(boundOf(this), options));
    return forks as SandboxForks<T>; // as above
  }

  static override list(options?: SandboxListOpts): SandboxPaginator {
    return super.list(withBound(this, options));
  }

  static override kill(sandboxId: string, options?: ConnectionOpts): Promise<boolean> {
    return super.kill(sandboxId, withBound(this, options));
  }

  static override getInfo(sandboxId: string, options?: ConnectionOpts): Promise<SandboxInfo> {
    return super.getInfo(sandboxId, withBound(this, options));
  }

  /** @deprecated use {@link Sandbox.getInfo} */
  static getFullInfo(sandboxId: string, options?: ConnectionOpts): Promise<SandboxInfo> {
    return super.getInfo(sandboxId, withBound(this, options));
  }

  static override async getMetrics(sandboxId: string, options?: SandboxMetricsOpts): Promise<SandboxMetrics[]> {
    return [...(await super.getMetrics(sandboxId, withBound(this, options)))];
  }

  static override setTimeout(sandboxId: string, timeoutMs: number, options?: ConnectionOpts): Promise<void> {
    return super.setTimeout(sandboxId, timeoutMs, withBound(this, options));
  }

  static override updateNetwork(sandboxId: string, network: SandboxNetworkUpdate, options?: ConnectionOpts): Promise<void> {
    return super.updateNetwork(sandboxId, toNetwork(network), withBound(this, options));
  }

  static override pause(sandboxId: string, options?: SandboxPauseOpts): Promise<boolean> {
    return super.pause(sandboxId, withBound(this, options));
  }

  /** @deprecated use {@link Sandbox.pause} */
  static betaPause(sandboxId: string, options?: SandboxPauseOpts): Promise<boolean> {
    return super.pause(sandboxId, withBound(this, options));
  }

  static override createSnapshot(sandboxId: string, options?: CreateSnapshotOpts): Promise<SnapshotInfo> {
    return super.createSnapshot(sandboxId, withBound(this, options));
  }

  static override listSnapshots(options?: SnapshotListOpts): SnapshotPaginator {
    return super.listSnapshots(withBound(this, options));
  }

  static override deleteSnapshot(snapshotId: string, options?: ConnectionOpts): Promise<boolean> {
    return super.deleteSnapshot(snapshotId, withBound(this, options));
  }

  override connect(options?: SandboxConnectOpts): Promise<this> {
    return super.connect(options);
  }

  override fork(options?: SandboxForkOpts): Promise<SandboxForks<this>> {
    return super.fork(options);
  }

  override pause(options?: SandboxPauseOpts): Promise<boolean> {
    return super.pause(options);
  }

  /** @deprecated use {@link Sandbox.pause} */
  betaPause(options?: SandboxPauseOpts): Promise<boolean> {
    return super.pause(options);
  }

  override createSnapshot(options?: CreateSnapshotOpts): Promise<SnapshotInfo> {
    return super.createSnapshot(options);
  }

  override listSnapshots(options?: Omit<SnapshotListOpts, "sandboxId">): SnapshotPaginator {
    return super.listSnapshots(options);
  }

  override async getMetrics(options?: SandboxMetricsOpts): Promise<SandboxMetrics[]> {
    return [...(await super.getMetrics(options))];
  }

  override updateNetwork(network: SandboxNetworkUpdate, options?: RequestOptions): Promise<void> {
    return super.updateNetwork(toNetwork(network), options);
  }

  /** URL of the MCP gateway. */
  getMcpUrl(): string {
    return `https://${this.getHost(MCP_PORT)}/mcp`;
  }

  /** Token of the MCP gateway. */
  async getMcpToken(): Promise<string | undefined> {
    this.#mcpToken ??= await readMcpToken(this);
    return this.#mcpToken;
  }
}

type CompatClass = SandboxClass<Sandbox> & { readonly defaultTemplate: string; readonly defaultMcpTemplate: string };

/** The class that a factory was called on; taken off it, it makes plain sandboxes. */
function classOf(owner: FactoryThis<SandboxBase>): CompatClass {
  return (owner ?? Sandbox) as unknown as CompatClass; // factories are inherited by classes derived from Sandbox only
}

function boundOf(owner: FactoryThis<SandboxBase>): Bound | undefined {
  return owner as unknown as Bound | undefined; // the same
}
