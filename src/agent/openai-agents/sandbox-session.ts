import type { Editor, ToolOutputImage } from "@openai/agents-core";
import {
  cloneManifest,
  type ExecCommandArgs,
  type ExposedPortEndpoint,
  type ListDirectoryArgs,
  Manifest,
  type MaterializeEntryArgs,
  normalizeExposedPort,
  type ReadFileArgs,
  type ResolveSandboxPathOptions,
  recordExposedPortEndpoint,
  type SandboxArchiveLimits,
  SandboxConfigurationError,
  type SandboxDirectoryEntry,
  type SandboxExecResult,
  SandboxInvalidManifestPathError,
  type SandboxPreStopHook,
  type SandboxSession,
  type SandboxSessionLifecycleOptions,
  type ViewImageArgs,
  validateSandboxArchiveLimits,
  type WorkspaceArchiveData,
  type WorkspaceArchiveOptions,
  WorkspacePathPolicy,
  type WriteStdinArgs,
} from "@openai/agents-core/sandbox";
import { portUrl } from "../port-url.js";
import type { AgentSandboxClientOptions } from "./client-options.js";
import { toExecText } from "./exec-text.js";
import { orFailureText, orNotFound } from "./framework-failures.js";
import { assertManifestSupported } from "./manifest-check.js";
import { mergeManifests } from "./manifest-record.js";
import { assertEntriesInside, materializeEntries } from "./materialize.js";
import { PreStopHooks } from "./pre-stop-hooks.js";
import { provisionAccounts } from "./prepare-workspace.js";
import { SessionFiles } from "./session-files.js";
import { readImage } from "./session-image.js";
import { EXEC_YIELD_MS, SessionProcesses, toUser, WRITE_YIELD_MS } from "./session-processes.js";
import type { SessionSandbox } from "./session-sandbox.js";
import { fromSnapshotReference, toSnapshotReference } from "./session-snapshots.js";
import type { AgentSandboxSessionState } from "./session-state.js";
import { archiveWorkspace, restoreWorkspace, toBytes } from "./workspace-archive.js";
import { WorkspaceEditor } from "./workspace-editor.js";

/**
 * A sandbox of ours as the framework uses it.
 *
 * Paths are absolute or relative to the root of the manifest, and must be below it or a path that the manifest grants, also once links are
 * followed. Files are touched as the user of commands may touch them, or the one of `runAs`. Use keeps the sandbox alive.
 */
export class AgentSandboxSession implements SandboxSession<AgentSandboxSessionState> {
  state: AgentSandboxSessionState;
  readonly #place: SessionSandbox;
  readonly #options: AgentSandboxClientOptions;
  readonly #processes: SessionProcesses;
  readonly #hooks = new PreStopHooks();
  #archiveLimits: SandboxArchiveLimits | null | undefined;
  /** Changes of the manifest, one after the other. */
  #changes: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(state: AgentSandboxSessionState, place: SessionSandbox, options: AgentSandboxClientOptions) {
    this.state = state;
    this.#place = place;
    this.#options = options;
    this.#processes = new SessionProcesses(options.shell);
    this.setArchiveLimits(options.archiveLimits);
  }

  /** Make the sandbox answer again: wake it, or restore it from the snapshot of the state where it has ended. */
  async start(_options?: SandboxSessionLifecycleOptions): Promise<void> {
    await this.#place.reopen();
  }

  /** Whether the sandbox answers. */
  running(): Promise<boolean> {
    return this.#place.isRunning();
  }

  /** Have `hook` called before the session stops; the returned function takes that back. */
  registerPreStopHook(hook: SandboxPreStopHook): () => void {
    return this.#hooks.add(hook);
  }

  /** Call the hooks, each once. */
  runPreStopHooks(): Promise<void> {
    return this.#hooks.run();
  }

  /** The same as {@link AgentSandboxSession.runPreStopHooks}, by the name under which the framework calls it. */
  preStop(_options?: SandboxSessionLifecycleOptions): Promise<void> {
    return this.#hooks.run();
  }

  /** Kill the commands that run. */
  async stop(_options?: SandboxSessionLifecycleOptions): Promise<void> {
    await this.#hooks.run();
    await this.#processes.killAll();
  }

  /** The same as {@link AgentSandboxSession.close}. */
  shutdown(_options?: SandboxSessionLifecycleOptions): Promise<void> {
    return this.close();
  }

  /** Kill the sandbox. At the end of a run, which the framework calls `cleanup`, it is {@link AgentSandboxSession.close}. */
  async delete(options: SandboxSessionLifecycleOptions = {}): Promise<void> {
    if (options.reason === "cleanup") await this.close();
    else await this.#end("kill");
  }

  /** End the session: kill the sandbox, or pause it with `pauseOnExit`. Closing twice is fine. */
  async close(): Promise<void> {
    await this.#end(this.state.pauseOnExit ? "pause" : "kill");
  }

  /** Patches files. */
  createEditor(runAs?: string): Editor {
    return new WorkspaceEditor({ files: () => this.#files(runAs), resolve: (path) => this.#resolve(path, { forWrite: true }) });
  }

  /** True: commands get a terminal where they ask for one. */
  supportsPty(): boolean {
    return true;
  }

  /**
   * Run a command and wait for its end, 10 seconds unless `yieldTimeMs` says otherwise; one that takes longer goes on, under the `sessionId` of
   * the result.
   */
  async exec(args: ExecCommandArgs): Promise<SandboxExecResult> {
    const cwd = this.#resolve(args.workdir);
    const sandbox = await this.#place.use(args.yieldTimeMs ?? EXEC_YIELD_MS);
    return this.#processes.exec({ sandbox, cwd, envs: this.state.environment }, args);
  }

  /**
   * As {@link AgentSandboxSession.exec}, as text for a model. What keeps a command from being run, such as a directory that is not there, is a
   * text that says so: of what is thrown the framework tells a model nothing.
   */
  execCommand(args: ExecCommandArgs): Promise<string> {
    return orFailureText("exec_command", async () => toExecText(await this.exec(args)));
  }

  /**
   * Type into a command that runs, or only look what it wrote; without a terminal Ctrl-C is sent as SIGINT. Failures are texts, as those of
   * {@link AgentSandboxSession.execCommand}.
   */
  writeStdin(args: WriteStdinArgs): Promise<string> {
    return orFailureText("write_stdin", async () => {
      await this.#place.use(args.yieldTimeMs ?? WRITE_YIELD_MS);
      return this.#processes.write(args);
    });
  }

  /** Read a PNG, JPEG, GIF or WebP image of at most 10 MiB. */
  async viewImage({ path, runAs }: ViewImageArgs): Promise<ToolOutputImage> {
    const target = this.#resolve(path);
    return readImage(await this.#files(runAs), path, target);
  }

  /** Read a file, or its first `maxBytes`. @throws `SandboxWorkspaceReadNotFoundError` */
  async readFile({ path, runAs, maxBytes }: ReadFileArgs): Promise<Uint8Array> {
    const target = this.#resolve(path);
    if (maxBytes !== undefined && maxBytes < 1) return new Uint8Array(0);
    return orNotFound(path, (await this.#files(runAs)).read(target, maxBytes));
  }

  /** List a directory. @throws `SandboxWorkspaceReadNotFoundError` */
  async listDir({ path, runAs }: ListDirectoryArgs): Promise<SandboxDirectoryEntry[]> {
    const { path: target, workspaceRelativePath = target } = this.#policy.resolve(path);
    const entries = await orNotFound(path, (await this.#files(runAs)).list(target));
    return entries.map(({ name, kind }) => ({
      name,
      path: workspaceRelativePath === "" ? name : `${workspaceRelativePath}/${name}`,
      type: kind,
    }));
  }

  /** Whether something is there, for the user of the call. */
  async pathExists(path: string, runAs?: string): Promise<boolean> {
    const target = this.#resolve(path);
    return (await (await this.#files(runAs)).kindOf(target)) !== undefined;
  }

  /** Whether there is a directory, which the user can enter. */
  async directoryExists(path: string, runAs?: string): Promise<boolean> {
    const target = this.#resolve(path);
    return (await this.#files(runAs)).isDirectory(target);
  }

  /** Make one entry, which becomes part of the manifest. */
  async materializeEntry({ path, entry, runAs }: MaterializeEntryArgs): Promise<void> {
    const { workspaceRelativePath } = this.#policy.resolve(path, { forWrite: true });
    if (workspaceRelativePath === undefined) {
      throw new SandboxInvalidManifestPathError(`entries are made below ${this.state.manifest.root} only, not at ${path}`, { path });
    }
    await this.applyManifest(new Manifest({ entries: { [workspaceRelativePath]: structuredClone(entry) } }), runAs);
  }

  /** Make what a manifest adds: accounts, entries, variables. Its root is that of the session. */
  async applyManifest(manifest: Manifest, runAs?: string): Promise<void> {
    const added = cloneManifest(manifest);
    const change = this.#changes.then(() => this.#apply(added, toUser(runAs)));
    this.#changes = change.catch(() => {});
    await change;
  }

  /** The workspace without what is ephemeral, as a tar archive; with `workspacePersistence: "snapshot"` the name of a snapshot. */
  async persistWorkspace(): Promise<Uint8Array> {
    const sandbox = await this.#place.use();
    // A snapshot would keep what is ephemeral too.
    const isSnapshot = this.#options.workspacePersistence === "snapshot" && this.state.manifest.ephemeralPersistencePaths().size === 0;
    return isSnapshot ? toSnapshotReference(sandbox) : archiveWorkspace(sandbox, this.state.manifest);
  }

  /** Replace the workspace by what {@link AgentSandboxSession.persistWorkspace} gave. A snapshot replaces the whole sandbox. */
  async hydrateWorkspace(data: WorkspaceArchiveData, options: WorkspaceArchiveOptions = {}): Promise<void> {
    const sandbox = await this.#place.use();
    const bytes = toBytes(data);
    // The name of a snapshot counts only where snapshots are wanted: an archive may come from elsewhere.
    const snapshotId = this.#options.workspacePersistence === "snapshot" ? fromSnapshotReference(bytes) : undefined;
    if (snapshotId !== undefined) {
      await this.#processes.killAll();
      await this.#place.replaceBy(snapshotId);
      return;
    }
    const limits = options.archiveLimits === undefined ? this.#archiveLimits : options.archiveLimits;
    await restoreWorkspace(sandbox, this.state.manifest.root, bytes, limits);
  }

  /** Limits of later calls of {@link AgentSandboxSession.hydrateWorkspace}; `null` for none. */
  setArchiveLimits(limits?: SandboxArchiveLimits | null): void {
    validateSandboxArchiveLimits(limits);
    this.#archiveLimits = limits;
  }

  /** Where a port is reached from outside. A private port needs the traffic access token beside it, which is never part of the state. */
  async resolveExposedPort(port: number): Promise<ExposedPortEndpoint> {
    const wanted = normalizeExposedPort(port);
    const { exposedPorts = [] } = this.#options;
    if (exposedPorts.length > 0 && !exposedPorts.includes(wanted)) {
      throw new SandboxConfigurationError(`port ${wanted} is not among exposedPorts of the client: ${exposedPorts.join(", ")}`, {
        port: wanted,
      });
    }
    const url = new URL(portUrl(await this.#place.use(), wanted));
    const tls = url.protocol === "https:";
    return recordExposedPortEndpoint(this.state, { host: url.hostname, port: Number(url.port || (tls ? 443 : 80)), tls }, wanted);
  }

  async #apply(added: Manifest, user: string | undefined): Promise<void> {
    const { manifest } = this.state;
    const entries = mergeManifests(new Manifest({ root: manifest.root, extraPathGrants: manifest.extraPathGrants }), added);
    assertManifestSupported(entries);
    const environment = await entries.resolveEnvironment();
    const sandbox = await this.#place.use();
    await assertEntriesInside(sandbox, entries);
    await provisionAccounts(sandbox, entries);
    await materializeEntries(sandbox, entries, { runAs: user, localSourceDir: this.#options.localSourceDir });
    // Read again, because the framework may have replaced them meanwhile.
    this.state.environment = { ...this.state.environment, ...environment };
    this.state.manifest = mergeManifests(this.state.manifest, added);
  }

  async #end(how: "kill" | "pause"): Promise<void> {
    try {
      await this.#hooks.run();
    } finally {
      await this.#processes.killAll();
      await this.#place.end(how);
    }
  }

  async #files(runAs: string | undefined): Promise<SessionFiles> {
    const { root, extraPathGrants } = this.state.manifest;
    const granted = (grants: typeof extraPathGrants) => [root, ...grants.map(({ path }) => path)];
    return new SessionFiles(await this.#place.use(), {
      user: toUser(runAs),
      readable: granted(extraPathGrants),
      writable: granted(extraPathGrants.filter(({ readOnly }) => !readOnly)),
    });
  }

  get #policy(): WorkspacePathPolicy {
    const { root, extraPathGrants } = this.state.manifest;
    return new WorkspacePathPolicy({ root, extraPathGrants });
  }

  #resolve(path?: string, options?: ResolveSandboxPathOptions): string {
    return this.#policy.resolve(path, options).path;
  }
}
