import type { Sandbox, SandboxCreateOptions } from "../../sandbox/sandbox.js";
import { SandboxSession } from "../sandbox-session.js";
import { SandboxBackend, type SandboxBackendOptions } from "./sandbox-backend.js";

/** How a backend makes its sandbox. */
export interface OwnedBackendOptions extends SandboxBackendOptions {
  /** How the sandbox is made. Its `timeoutMs` is counted anew with each use. */
  readonly create?: Omit<SandboxCreateOptions, "signal"> | undefined;
}

/** A backend with a sandbox of its own. */
export class OwnedSandboxBackend extends SandboxBackend implements AsyncDisposable {
  readonly #session: SandboxSession;

  constructor({ create, ...options }: OwnedBackendOptions = {}) {
    const session = new SandboxSession({ create });
    super(session, options);
    this.#session = session;
  }

  /** Id of the sandbox; `undefined` until the first use has made it. */
  get sandboxId(): string | undefined {
    return this.#session.sandboxIds[0];
  }

  /** Kill the sandbox, also one that is just being made. The backend is of no use afterwards. */
  close(): Promise<void> {
    return this.#session.close();
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * A backend that makes its sandbox when it is first used, and kills it when it is closed.
 *
 * ```ts
 * await using backend = createSandboxBackend();
 * const agent = createDeepAgent({ model, backend });
 * ```
 */
export function createSandboxBackend(options?: OwnedBackendOptions): OwnedSandboxBackend {
  return new OwnedSandboxBackend(options);
}

/** A backend in a sandbox that is there already, or in the default one of a session. Neither is ended by it. */
export function toSandboxBackend(sandbox: Sandbox | SandboxSession, options?: SandboxBackendOptions): SandboxBackend {
  return new SandboxBackend(sandbox instanceof SandboxSession ? sandbox : new SandboxSession({ sandbox }), options);
}
