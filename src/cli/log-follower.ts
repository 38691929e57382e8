import { Sandbox, SandboxError, type SandboxLogEntry, type SandboxLogLevel } from "../index.js";
import { pause } from "../shared/pause.js";
import { EXIT } from "./exit-code.js";
import { exitStatusOf } from "./exit-signal.js";
import { watchEndingSignals } from "./local-signals.js";
import { writeOut } from "./output.js";
import { toPrintable } from "./printable.js";

/** Milliseconds between two looks. */
const INTERVAL_MS = 500;

export interface FollowOptions {
  readonly level: SandboxLogLevel | undefined;
  /** Entries that are shown first. */
  readonly limit?: number | undefined;
  /** One JSON object per line. */
  readonly json?: boolean | undefined;
}

/** Write the log of a sandbox as it grows, until the sandbox ends or this process is interrupted. */
export async function followLog(sandboxId: string, { level, limit, json }: FollowOptions, outputClosed: AbortSignal): Promise<number> {
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  const signal = AbortSignal.any([ending.signal, outputClosed]);
  const show = (entry: SandboxLogEntry): Promise<void> => writeOut(json ? `${JSON.stringify(toLogJson(entry))}\n` : formatLogEntry(entry));
  try {
    const first = [...(await Sandbox.getLogs(sandboxId, { level, limit, direction: "backward", signal }))].reverse();
    const news = new NewEntries(first);
    for (const entry of first) await show(entry);
    for (;;) {
      // Asked before the log is read: what was written until the end is then in it.
      const isOver = await hasEnded(sandboxId, signal);
      const entries = await Sandbox.getLogs(sandboxId, { level, cursor: news.cursor, signal }).catch((error: unknown) => {
        if (isOver && isNotFound(error)) return [];
        throw error;
      });
      for (const entry of news.take(entries)) await show(entry);
      if (isOver) return EXIT.ok;
      await pause(INTERVAL_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return signals.received === undefined ? EXIT.ok : exitStatusOf(0, signals.received);
  }
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

async function hasEnded(sandboxId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await Sandbox.getInfo(sandboxId, { signal });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.reason === "sandbox_not_found";
}
