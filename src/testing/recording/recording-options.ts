import type { ConnectionOptions } from "../../index.js";

/** What recording and replay must agree on. */
export interface RecordingOptions {
  /**
   * Change texts before they are kept and compared: bodies of requests and answers, and targets. Give both sides the same function, to take
   * out what is secret or differs from run to run. UUIDs and the tokens in answers are taken out without it.
   */
  readonly redact?: ((text: string) => string) | undefined;
}

/** A wire that is recorded or replayed. */
export interface WireSession extends AsyncDisposable {
  /** For `Sandbox.create(…)` and everything else that connects. */
  readonly connection: Readonly<ConnectionOptions>;
  /** Finish. Closing twice is fine. */
  close(): Promise<void>;
}
