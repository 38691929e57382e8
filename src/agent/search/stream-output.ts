import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { type CommandEnd, runToEnd } from "../run-to-end.js";

/** How a search is called. */
export interface SearchCall {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
}

/** What is kept of both streams, of which only errors are of interest. */
const MAX_KEPT_BYTES = 8 * 1024;
/** Characters after which it is enough in any case. */
const MAX_STREAM_LENGTH = 256 * 1024 * 1024;

export interface StreamOptions {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Takes each piece of standard output; `true` means that it has enough. */
  readonly take: (text: string) => boolean;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
}

/** Run a program in the home directory and hand on its output as it comes. `undefined` when it was killed because that was enough. */
export async function streamOutput(sandbox: Sandbox, words: readonly string[], options: StreamOptions): Promise<CommandEnd | undefined> {
  const { signal, timeoutMs, take, user } = options;
  const enough = new AbortController();
  let length = 0;
  try {
    return await runToEnd(sandbox, quoteShellCommand(words), {
      cwd: ".",
      user,
      timeoutMs,
      maxOutputBytes: MAX_KEPT_BYTES,
      signal: AbortSignal.any([enough.signal, ...(signal === undefined ? [] : [signal])]),
      onStdout: (text) => {
        length += text.length;
        if (!enough.signal.aborted && (take(text) || length > MAX_STREAM_LENGTH)) enough.abort();
      },
    });
  } catch (error) {
    if (enough.signal.aborted && signal?.aborted !== true) return undefined;
    throw error;
  }
}

/** The program did not come to its own end. */
export function isCutShort(end: CommandEnd | undefined): boolean {
  return end === undefined || end.timedOutMs !== undefined;
}
