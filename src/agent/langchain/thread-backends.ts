import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import { currentRun } from "./current-run.js";
import { type OwnedBackendOptions, OwnedSandboxBackend } from "./open-backend.js";

/**
 * A sandbox for each conversation of one agent, so that none sees the files of another.
 *
 * ```ts
 * await using backends = new ThreadBackends();
 * const agent = createDeepAgent({ model, backend: backends.factory });
 * await agent.invoke({ messages }, { configurable: { thread_id: "conversation-1" } });
 * ```
 */
export class ThreadBackends implements AsyncDisposable {
  readonly #options: OwnedBackendOptions;
  readonly #backends = new Map<string, OwnedSandboxBackend>();
  #isClosed = false;

  constructor(options: OwnedBackendOptions = {}) {
    this.#options = options;
  }

  /**
   * The option `backend` of deepagents: gives the backend of the run that asks, by `configurable.thread_id`.
   *
   * @throws {@link InvalidArgumentError} the run has no `thread_id`; {@link FailedPreconditionError} all backends are closed.
   */
  readonly factory = (runtime?: unknown): OwnedSandboxBackend => {
    const { threadId } = currentRun(runtime);
    if (threadId === undefined) {
      throw new InvalidArgumentError(
        "the run has no thread_id: invoke the agent with { configurable: { thread_id } }, one for each conversation",
      );
    }
    return this.get(threadId);
  };

  /** The backend of a conversation. */
  get(threadId: string): OwnedSandboxBackend {
    if (this.#isClosed) throw new FailedPreconditionError("the backends are closed");
    const backend = this.#backends.get(threadId) ?? new OwnedSandboxBackend(this.#options);
    this.#backends.set(threadId, backend);
    return backend;
  }

  /** Kill the sandbox of a conversation, or without an id those of all, after which there are no more. */
  async close(threadId?: string): Promise<void> {
    this.#isClosed ||= threadId === undefined;
    const closing = threadId === undefined ? [...this.#backends.keys()] : [threadId];
    const backends = closing.map((id) => this.#backends.get(id));
    for (const id of closing) this.#backends.delete(id);
    await Promise.all(backends.map((backend) => backend?.close()));
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
