import type { Experimental_SandboxSession } from "ai";
import { AlreadyExistsError, SandboxNotFoundError } from "../../errors/error-classes.js";
import { Sandbox, type SandboxCreateOptions } from "../../sandbox/sandbox.js";
import { type NetworkSandboxSession, type NetworkSandboxSessionOptions, openNetworkSandboxSession } from "./network-session.js";
import { openSandboxSession } from "./open-sandbox-session.js";
import { PreparedSnapshots } from "./prepared-snapshots.js";
import { withProviderErrors } from "./provider-authentication-error.js";

/** Where the sandboxes of a harness come from. */
export interface SandboxProviderOptions extends Omit<NetworkSandboxSessionOptions, "signal" | "onStop" | "egressProxy"> {
  /** One that is there already: all sessions use it, nothing is set up in it, and they neither stop nor destroy it. */
  readonly sandbox?: Sandbox | undefined;
  /**
   * How sandboxes are made, and which platform makes them. They live for an hour unless `timeoutMs` says otherwise; at the end of it one with
   * a `sessionId` is paused with its files unless `lifecycle` says otherwise.
   */
  readonly create?: Omit<SandboxCreateOptions, "signal"> | undefined;
  /** Keep what `onFirstCreate` did as a snapshot, from which later sessions start. False does it in each sandbox. @defaultValue true */
  readonly snapshots?: boolean | undefined;
}

/** What a harness asks for in a new session. */
export interface CreateSessionOptions {
  /** Finds the sandbox again with `resumeSession`, also from another program. */
  readonly sessionId?: string | undefined;
  /** Names what `onFirstCreate` does. */
  readonly identity?: string | undefined;
  /** Sets a new sandbox up; with `identity` once, for all that start from the snapshot of it. */
  readonly onFirstCreate?: ((session: Experimental_SandboxSession, options: { abortSignal?: AbortSignal }) => Promise<void>) | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** `HarnessV1SandboxProvider` of `@ai-sdk/harness`. */
export interface SandboxProvider {
  readonly specificationVersion: "harness-sandbox-v1";
  readonly providerId: string;
  /**
   * Make a sandbox. With `identity` and `onFirstCreate` it starts from a snapshot in which that was done once.
   *
   * @throws {@link AlreadyExistsError} the session has a sandbox; {@link SandboxProviderAuthenticationError} the credentials are wrong.
   */
  readonly createSession: (options?: CreateSessionOptions) => Promise<NetworkSandboxSession>;
  /**
   * Find the sandbox of a session, running or stopped, and wake it.
   *
   * @throws {@link SandboxNotFoundError} it was never made, or has ended; {@link SandboxProviderAuthenticationError} the credentials are wrong.
   */
  readonly resumeSession: (options: {
    readonly sessionId: string;
    readonly abortSignal?: AbortSignal | undefined;
  }) => Promise<NetworkSandboxSession>;
}

const PROVIDER_ID = "agent-sandbox";
/** Label of a sandbox that holds the id of its session. */
const SESSION_KEY = "ai-sdk-session";
/** A turn of an agent may take long, and nothing prolongs the sandbox meanwhile. */
const DEFAULT_LIFE_MS = 3_600_000;

/** Sandboxes for `HarnessAgent`. Nothing is asked and nothing is made before a session is. */
export function createSandboxProvider(options: SandboxProviderOptions = {}): SandboxProvider {
  const { sandbox: given, create = {}, snapshots: wantsSnapshots = true, ...sessionOptions } = options;
  const { timeoutMs = DEFAULT_LIFE_MS, template = Sandbox.defaultTemplate, network, metadata } = create;
  const snapshots = new PreparedSnapshots(create, (action) => withProviderErrors(PROVIDER_ID, action));
  const creating = new Set<string>();

  const make = (more: SandboxCreateOptions): Promise<Sandbox> =>
    withProviderErrors(PROVIDER_ID, () => Sandbox.create({ ...create, template, timeoutMs, ...more }));

  const open = (sandbox: Sandbox, onStop: "pause" | "kill" | "leave", signal: AbortSignal | undefined): Promise<NetworkSandboxSession> =>
    openNetworkSandboxSession(sandbox, { ...sessionOptions, egressProxy: network?.egressProxy, onStop, signal });

  const find = async (sessionId: string, signal: AbortSignal | undefined): Promise<string | undefined> => {
    const query = { metadata: { [SESSION_KEY]: sessionId } };
    const [found] = await withProviderErrors(PROVIDER_ID, () => Sandbox.list({ ...create, query, limit: 1 }).nextItems({ signal }));
    return found?.sandboxId;
  };

  const setUp = async (sandbox: Sandbox, { onFirstCreate, abortSignal }: CreateSessionOptions): Promise<void> => {
    const session = await openSandboxSession(sandbox, { ...sessionOptions, signal: abortSignal });
    await onFirstCreate?.(session, { ...(abortSignal && { abortSignal }) });
    abortSignal?.throwIfAborted();
  };

  const prepare = async (asked: CreateSessionOptions): Promise<string | undefined> => {
    const { identity, onFirstCreate, abortSignal: signal } = asked;
    if (!wantsSnapshots || identity === undefined || onFirstCreate === undefined) return undefined;
    // Nobody resumes the one in which the set-up is done, so it has no label, and ends with its life.
    const makeOne = () => make({ lifecycle: undefined, signal });
    return snapshots.get({ template, identity, make: makeOne, setUp: (sandbox) => setUp(sandbox, asked), signal });
  };

  const createOwn = async (asked: CreateSessionOptions): Promise<NetworkSandboxSession> => {
    const { sessionId, abortSignal: signal } = asked;
    const snapshot = await prepare(asked);
    const labels =
      sessionId === undefined ? {} : { metadata: { ...metadata, [SESSION_KEY]: sessionId }, lifecycle: create.lifecycle ?? PAUSED };
    const sandbox = await make({ ...labels, ...(snapshot !== undefined && { template: snapshot }), signal });
    try {
      if (snapshot === undefined) await setUp(sandbox, asked);
      // Without an id nobody can come back to it.
      return await open(sandbox, sessionId === undefined ? "kill" : "pause", signal);
    } catch (error) {
      await sandbox.kill().catch(() => undefined);
      throw error;
    }
  };

  return {
    specificationVersion: "harness-sandbox-v1",
    providerId: PROVIDER_ID,
    async createSession(asked = {}) {
      const { sessionId, abortSignal: signal } = asked;
      signal?.throwIfAborted();
      if (given !== undefined) return open(given, "leave", signal);
      if (sessionId === undefined) return createOwn(asked);
      if (creating.has(sessionId)) throw toConflict(sessionId);
      creating.add(sessionId);
      try {
        const other = await find(sessionId, signal);
        if (other !== undefined) throw toConflict(sessionId, other);
        return await createOwn(asked);
      } finally {
        creating.delete(sessionId);
      }
    },
    async resumeSession({ sessionId, abortSignal: signal }) {
      signal?.throwIfAborted();
      if (given !== undefined) return open(given, "leave", signal);
      const sandboxId = await find(sessionId, signal);
      if (sandboxId === undefined) {
        throw new SandboxNotFoundError(
          `there is no sandbox of the session ${JSON.stringify(sessionId)}: it has ended, or was made elsewhere; create a new session`,
        );
      }
      const sandbox = await withProviderErrors(PROVIDER_ID, () => Sandbox.connect(sandboxId, { ...create, timeoutMs, signal }));
      return open(sandbox, "pause", signal);
    },
  };
}

const PAUSED = { onTimeout: { action: "pause", keepMemory: false } } as const;

function toConflict(sessionId: string, sandboxId?: string): AlreadyExistsError {
  const what = sandboxId === undefined ? "is being created" : `has the sandbox ${sandboxId}`;
  return new AlreadyExistsError(`the session ${JSON.stringify(sessionId)} ${what} already: resume it, or kill its sandbox first`);
}
