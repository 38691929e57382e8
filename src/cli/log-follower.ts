import { Sandbox, type SandboxLogEntry, type SandboxLogLevel } from "../index.js";
import { followUntilEnd } from "./follow-until-end.js";
import { writeOut } from "./output.js";
import { toPrintable } from "./printable.js";

export interface FollowOptions {
  readonly level: SandboxLogLevel | undefined;
  /** Entries that are shown first. */
  readonly limit?: number | undefined;
  /** One JSON object per line. */
  readonly json?: boolean | undefined;
}

/** Write the log of a sandbox as it grows, until the sandbox ends or this process is interrupted. */
export async function followLog(sandboxId: string, { level, limit, json }: FollowOptions, outputClosed: AbortSignal): Promise<number> {
  const show = (entry: SandboxLogEntry): Promise<void> => writeOut(json ? `${JSON.stringify(toLogJson(entry))}\n` : formatLogEntry(entry));
  let news: NewEntries | undefined;
  return followUntilEnd(sandboxId, outputClosed, async (signal) => {
    if (news === undefined) {
      const first = [...(await Sandbox.getLogs(sandboxId, { level, limit, direction: "backward", signal }))].reverse();
      news = new NewEntries(first);
      for (const entry of first) await show(entry);
    } else {
      for (const entry of news.take(await Sandbox.getLogs(sandboxId, { level, cursor: news.cursor, signal }))) await show(entry);
    }
  });
}

/** One line for people. */
export function formatLogEntry({ timestamp, level, message }: SandboxLogEntry): string {
  return `${timestamp.toISOString()} ${level.padEnd(5)} ${toPrintable(message)}\n`;
}

/** One entry for programs. */
export function toLogJson({ timestamp, ...entry }: SandboxLogEntry): Record<string, unknown> {
  return { timestamp: timestamp.toISOString(), ...entry };
}

/** Tells entries that were seen from those that were not: a look begins at the last moment seen, which may have more entries by now. */
class NewEntries {
  #cursor: Date | undefined;
  #seenAtCursor: string[] = [];

  constructor(seen: readonly SandboxLogEntry[]) {
    this.take(seen);
  }

  get cursor(): Date | undefined {
    return this.#cursor;
  }

  take(entries: readonly SandboxLogEntry[]): SandboxLogEntry[] {
    const seen = [...this.#seenAtCursor];
    const fresh = entries.filter((entry) => {
      const index = seen.indexOf(JSON.stringify(entry));
      if (index >= 0) seen.splice(index, 1);
      return index < 0;
    });
    for (const entry of fresh) {
      if (entry.timestamp.getTime() !== this.#cursor?.getTime()) this.#seenAtCursor = [];
      this.#cursor = entry.timestamp;
      this.#seenAtCursor.push(JSON.stringify(entry));
    }
    return fresh;
  }
}
