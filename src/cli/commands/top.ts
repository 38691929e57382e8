import { messageOf } from "../../shared/message-of.js";
import { pause } from "../../shared/pause.js";
import { EXIT } from "../exit-code.js";
import { exitStatusOf } from "../exit-signal.js";
import { openFullScreen } from "../full-screen.js";
import { watchEndingSignals } from "../local-signals.js";
import { formatTable, writeJson, writeTable } from "../output.js";
import { toPrintable } from "../printable.js";
import { styleFor } from "../style.js";
import { loadUsage, type SandboxUsage, toUsageJson, toUsageRow, USAGE_HEADER } from "../usage-table.js";

export interface TopCommandOptions {
  /** Seconds between two looks. */
  readonly interval: number;
  readonly once?: boolean;
  readonly json?: boolean;
}

const QUIT_KEYS = ["q", "Q", "\u0003", "\u0004", "\u001b", ""];

/** `abx top`: live on a terminal; elsewhere, and with `--once`, one table. */
export async function runTopCommand(options: TopCommandOptions, outputClosed: AbortSignal): Promise<number> {
  if (options.json) await writeJson((await loadUsage()).map(toUsageJson));
  else if (options.once || !process.stdout.isTTY) {
    const usages = await loadUsage();
    await writeTable(
      USAGE_HEADER,
      usages.map((usage) => toUsageRow(usage, Date.now())),
    );
  } else return await showLive(Math.max(1, options.interval) * 1_000, outputClosed);
  return EXIT.ok;
}

async function showLive(intervalMs: number, outputClosed: AbortSignal): Promise<number> {
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  const signal = AbortSignal.any([ending.signal, outputClosed]);
  // A server that does not answer is told before the screen is taken.
  let usages = await loadUsage(signal);
  let trouble: string | undefined;
  {
    const redraw = (): void => void draw().catch(() => ending.abort());
    const onKey = (key: string): void => {
      if (QUIT_KEYS.includes(key)) ending.abort();
    };
    await using screen = await openFullScreen(onKey, redraw);
    const style = styleFor(process.stdout);
    const draw = (): Promise<void> =>
      screen.draw(toLines(usages, trouble), (line, index) => (index === 0 ? style("dim", line) : index === 2 ? style("bold", line) : line));
    while (!signal.aborted) {
      await draw();
      await pause(intervalMs, signal).catch(() => undefined);
      try {
        usages = await loadUsage(signal);
        trouble = undefined;
      } catch (error) {
        // Shown until the next look, which may succeed again.
        trouble = messageOf(error);
      }
    }
  }
  return signals.received === undefined ? EXIT.ok : exitStatusOf(0, signals.received);
}

function toLines(usages: readonly SandboxUsage[], trouble: string | undefined): string[] {
  const nowMs = Date.now();
  const running = usages.filter(({ info }) => info.state === "running").length;
  const title = `abx top  ${new Date(nowMs).toISOString()}  ${running} running, ${usages.length - running} paused  q quits`;
  const table = formatTable(
    USAGE_HEADER,
    usages.map((usage) => toUsageRow(usage, nowMs)),
  );
  return [title, toPrintable(trouble ?? ""), ...table.trimEnd().split("\n")];
}
