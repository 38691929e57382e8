import type { ProgressToken, ServerNotification } from "@modelcontextprotocol/sdk/types.js";

const INTERVAL_MS = 1_000;

/** Tells a client that a call goes on. */
export interface Progress extends Disposable {
  /** What happened last; it goes with the next notification. */
  readonly report: ((message: string) => void) | undefined;
}

/** Notify every second, with the seconds that have passed, where the client asked for it by a token. */
export function startProgress(token: ProgressToken | undefined, send: (notification: ServerNotification) => Promise<void>): Progress {
  if (token === undefined) return { report: undefined, [Symbol.dispose]: () => undefined };
  let seconds = 0;
  let message: string | undefined;
  const timer = setInterval(() => {
    seconds += 1;
    const params = { progressToken: token, progress: seconds, ...(message !== undefined && { message }) };
    // A client that is gone needs no progress.
    send({ method: "notifications/progress", params }).catch(() => undefined);
  }, INTERVAL_MS);
  return {
    report: (text) => {
      message = text;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
