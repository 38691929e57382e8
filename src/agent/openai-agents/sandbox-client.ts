import {
  type Manifest,
  normalizeSandboxClientCreateArgs,
  type SandboxClient,
  type SandboxClientCreateArgs,
  type SandboxClientResumeOptions,
  validateSandboxArchiveLimits,
} from "@openai/agents-core/sandbox";
import { Sandbox } from "../../sandbox/sandbox.js";
import { type AgentSandboxClientOptions, mergeOptions, toCreateOptions } from "./client-options.js";
import { assertManifestSupported } from "./manifest-check.js";
import { materializeEntries } from "./materialize.js";
import { prepareWorkspace } from "./prepare-workspace.js";
import { AgentSandboxSession } from "./sandbox-session.js";
import { SessionSandbox } from "./session-sandbox.js";
import { createWith, keepsSnapshots, saveSnapshot } from "./session-snapshots.js";
import { type AgentSandboxSessionState, fromStateRecord, toStateRecord } from "./session-state.js";

/**
 * Runs the agents of the OpenAI Agents SDK in sandboxes of ours.
 *
 * ```ts
 * await run(agent, "Fix the failing test.", { sandbox: { client: new AgentSandboxClient() } });
 * ```
 */
export class AgentSandboxClient implements SandboxClient<AgentSandboxClientOptions, AgentSandboxSessionState> {
  readonly backendId = "agent_sandbox";
  readonly #options: AgentSandboxClientOptions;
  /** Options of the sessions of this process, which may have been given for one run. */
  readonly #sessionOptions = new WeakMap<AgentSandboxSessionState, AgentSandboxClientOptions>();

  /** @param options for all sessions; those of one session stand over them */
  constructor(options: AgentSandboxClientOptions = {}) {
    this.#options = mergeOptions(options, undefined);
  }

  /**
   * Make a sandbox with what the manifest asks for. When that fails, none is left.
   *
   * @throws what {@link Sandbox.create} throws; `SandboxUnsupportedFeatureError` the manifest has mounts, or the kind of snapshot is not known.
   */
  async create(
    args?: SandboxClientCreateArgs<AgentSandboxClientOptions> | Manifest,
    manifestOptions?: AgentSandboxClientOptions,
  ): Promise<AgentSandboxSession> {
    const given = normalizeSandboxClientCreateArgs(toCreateArgs(args, manifestOptions));
    const { manifest } = given;
    const options = mergeOptions(this.#options, { ...given.options, snapshot: given.snapshot ?? given.options?.snapshot });
    const withLimits = given.archiveLimits === undefined ? options : { ...options, archiveLimits: given.archiveLimits };
    assertManifestSupported(manifest);
    keepsSnapshots(options.snapshot);
    validateSandboxArchiveLimits(withLimits.archiveLimits);
    const environment = await manifest.resolveEnvironment();
    const startedAt = performance.now();
    const sandbox = await createWith(options, async (made) => {
      await prepareWorkspace(made, manifest);
      await materializeEntries(made, manifest, { runAs: undefined, localSourceDir: options.localSourceDir });
    });
    const state: AgentSandboxSessionState = {
      manifest,
      sandboxId: sandbox.sandboxId,
      environment,
      pauseOnExit: options.pauseOnExit ?? false,
      snapshot: null,
      snapshotSpec: options.snapshot ?? null,
      workspaceReady: true,
    };
    return this.#open(state, new SessionSandbox(state, sandbox, options, startedAt), withLimits);
  }

  /**
   * Go on with a session, by the id of its sandbox: a paused one is woken. One that has ended is made anew from the snapshot of the state.
   *
   * @throws `SandboxSnapshotNotRestorableError` it has ended, and there is no snapshot.
   */
  async resume(
    state: AgentSandboxSessionState,
    { clientOptions, archiveLimits }: SandboxClientResumeOptions<AgentSandboxClientOptions> = {},
  ): Promise<AgentSandboxSession> {
    const merged = mergeOptions(this.#options, clientOptions);
    const options = archiveLimits === undefined ? merged : { ...merged, archiveLimits };
    keepsSnapshots(options.snapshot);
    state.snapshotSpec ??= options.snapshot ?? null;
    return this.#open(state, await SessionSandbox.open(state, options), options);
  }

  /** Kill the sandbox of a state. Its snapshot stays, and so the state can be resumed still. One that has ended is fine. */
  async delete(state: AgentSandboxSessionState): Promise<void> {
    await Sandbox.kill(state.sandboxId, toCreateOptions(this.#optionsOf(state)));
  }

  /**
   * A state as JSON, without keys and without what the manifest calls ephemeral. With the option `snapshot` the sandbox is kept as a snapshot
   * first, which the state then names; snapshots of earlier calls stay.
   */
  async serializeSessionState(state: AgentSandboxSessionState): Promise<Record<string, unknown>> {
    const options = this.#optionsOf(state);
    const spec = state.snapshotSpec ?? options.snapshot;
    if (keepsSnapshots(spec)) state.snapshot = await saveSnapshot(state, spec, options);
    return toStateRecord(state);
  }

  /** The state of what {@link AgentSandboxClient.serializeSessionState} gave, in any process. */
  deserializeSessionState(record: Record<string, unknown>): Promise<AgentSandboxSessionState> {
    return fromStateRecord(record);
  }

  /** Whether a state can be resumed after the end of its session. */
  canPersistOwnedSessionState(state: AgentSandboxSessionState): boolean {
    return state.pauseOnExit || keepsSnapshots(state.snapshotSpec ?? this.#optionsOf(state).snapshot);
  }

  #open(state: AgentSandboxSessionState, place: SessionSandbox, options: AgentSandboxClientOptions): AgentSandboxSession {
    this.#sessionOptions.set(state, options);
    return new AgentSandboxSession(state, place, options);
  }

  #optionsOf(state: AgentSandboxSessionState): AgentSandboxClientOptions {
    return this.#sessionOptions.get(state) ?? this.#options;
  }
}

/** A manifest may be of another copy of the framework, so it is told by its members. */
function toCreateArgs(
  args: SandboxClientCreateArgs<AgentSandboxClientOptions> | Manifest | undefined,
  options: AgentSandboxClientOptions | undefined,
): SandboxClientCreateArgs<AgentSandboxClientOptions> {
  if (args === undefined) return { options };
  return "entries" in args && "root" in args ? { manifest: args, options } : (args as SandboxClientCreateArgs<AgentSandboxClientOptions>);
}
