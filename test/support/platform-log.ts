import type { Readable } from "node:stream";

const TIMEOUT_MS = 120_000;
const MAX_LENGTH = 16_000_000;

/** What a platform writes to its log. */
export interface PlatformLog {
  /** Its last part. */
  tail(): string;
  /** All of it, up to the last 16 million characters. */
  whole(): string;
  /** Resolves once an event was logged `count` times since the start. */
  untilLogged(event: string, count: number): Promise<void>;
}

/** Read the log as it is written. */
export function followLog(stream: Readable | null): PlatformLog {
  let whole = "";
  let line = "";
  const counts = new Map<string, number>();
  let waiting: (() => void)[] = [];
  const tail = () => whole.slice(-8_000);
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    whole = (whole + chunk).slice(-MAX_LENGTH);
    const lines = (line + chunk).split("\n");
    line = lines.pop() ?? "";
    for (const event of lines.map(eventOf)) if (event !== undefined) counts.set(event, (counts.get(event) ?? 0) + 1);
    for (const check of waiting.splice(0)) check();
  });
  return {
    tail,
    whole: () => whole,
    untilLogged: (event, count) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting = waiting.filter((other) => other !== check);
          reject(new Error(`"${event}" was logged ${counts.get(event) ?? 0} times instead of ${count}:\n${tail()}`));
        }, TIMEOUT_MS);
        const check = () => {
          if ((counts.get(event) ?? 0) < count) {
            waiting.push(check);
            return;
          }
          clearTimeout(timer);
          resolve();
        };
        check();
      }),
  };
}

function eventOf(line: string): string | undefined {
  try {
    return (JSON.parse(line) as { readonly event?: string }).event;
  } catch {
    return undefined;
  }
}
