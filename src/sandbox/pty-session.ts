import type { PtySize } from "../protocol/process-client.js";
import type { ProcessStream } from "../protocol/process-events.js";
import type { RequestOptions } from "../transport/config.js";
import { CommandHandle, type HandleActions, type HandleOptions } from "./command-handle.js";

/** What a session needs to act on its terminal. */
export interface PtyActions extends HandleActions {
  resize(pid: number, size: PtySize, options?: RequestOptions): Promise<void>;
}

/** Output that a session keeps for those who iterate over it, in bytes. */
const KEPT_BYTES = 1024 * 1024;

/**
 * A terminal that is followed: its output comes to `onData`, or by iterating, as the bytes that it is.
 *
 * The terminal does not depend on the session; {@link CommandHandle.disconnect} leaves it running. On a daemon of ours the session survives a
 * broken connection for up to 30 seconds: output goes on with the next byte, and input that the daemon does not have yet is sent
 * again, so each byte arrives once. Elsewhere input that a broken connection may have lost rejects and is never sent again.
 */
export class PtySession extends CommandHandle {
  readonly #actions: PtyActions;

  /** @internal */
  constructor(stream: ProcessStream, actions: PtyActions, options: Pick<HandleOptions, "onData" | "onGap">) {
    super(stream, actions, { ...options, maxOutputBytes: KEPT_BYTES });
    this.#actions = actions;
  }

  /** Type, in the order of the calls; resolves when the terminal has it. */
  sendInput(data: string | Uint8Array, options?: RequestOptions): Promise<void> {
    return this.sendStdin(data, options);
  }

  /**
   * Change the window size.
   *
   * @throws {@link InvalidArgumentError} a side is not between 1 and 65535; {@link NotFoundError} the terminal ended.
   */
  resize(size: PtySize, options?: RequestOptions): Promise<void> {
    return this.#actions.resize(this.pid, size, options);
  }
}
