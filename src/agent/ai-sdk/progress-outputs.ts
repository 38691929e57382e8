import { pause } from "../../shared/pause.js";
import { type Tool, type ToolResult, textResult } from "../tool.js";

/** The framework queues what it is given, so the number of preliminary outputs depends on time and not on what is printed. */
const INTERVAL_MS = 1_000;

/** Call a tool and give what happens on the way, then its result. Who leaves the iteration early ends the call. */
export async function* outputsOf(tool: Tool, input: unknown, signal: AbortSignal | undefined): AsyncGenerator<ToolResult, void, undefined> {
  const left = new AbortController();
  const either = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  let newest: string | undefined;
  let wake = (): void => {};
  const onProgress = (message: string): void => {
    newest = message;
    wake();
  };
  const ended = new AbortController();
  const work = tool.execute(input, { signal: either, onProgress });
  const settled = work.then(
    () => ended.abort(),
    () => ended.abort(),
  );
  try {
    for (;;) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (newest === undefined) await Promise.race([settled, news]);
      if (ended.signal.aborted || newest === undefined) break;
      const text = newest;
      newest = undefined;
      yield textResult(text);
      await pause(INTERVAL_MS, ended.signal).catch(() => undefined);
    }
    yield await work;
  } finally {
    left.abort(new Error("nobody waits for the output any more"));
    work.catch(() => undefined);
  }
}
