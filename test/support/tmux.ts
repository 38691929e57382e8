import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

/** Where Debian has it; the preparation of the tests installs it. */
export const HAS_TMUX = existsSync("/usr/bin/tmux");

/** A terminal of tmux, which interprets what is written as a person's terminal does. */
export interface TmuxTerminal extends AsyncDisposable {
  /** Names of keys, such as `Enter` or `C-c`, or text. */
  keys(...keys: readonly string[]): Promise<void>;
  type(text: string): Promise<void>;
  resize(cols: number, rows: number): Promise<void>;
  /** What is seen, with the sequences that colour it where wanted. */
  screen(withColours?: boolean): Promise<string>;
  /** The screen once it matches. */
  until(pattern: RegExp): Promise<string>;
}

/** Open one that runs a shell line with exactly these variables beside PATH and TERM; bash goes on after it. */
export async function openTmux(env: Readonly<Record<string, string>>, line: string): Promise<TmuxTerminal> {
  const socket = `abx-test-${randomUUID()}`;
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await run("/usr/bin/tmux", ["-L", socket, "-f", "/dev/null", ...args], { env: { PATH: process.env.PATH, LANG: "C.UTF-8", ...env } }))
      .stdout;
  await tmux("new-session", "-d", "-x", "110", "-y", "30", "-s", "t", "bash", "--norc", "-c", `${line}; PS1='$ ' exec bash --norc`);
  const screen = (withColours = false): Promise<string> => tmux("capture-pane", "-p", ...(withColours ? ["-e"] : []), "-t", "t");
  return {
    keys: async (...keys) => void (await tmux("send-keys", "-t", "t", ...keys)),
    type: async (text) => void (await tmux("send-keys", "-t", "t", "-l", text)),
    resize: async (cols, rows) => void (await tmux("resize-window", "-t", "t", "-x", String(cols), "-y", String(rows))),
    screen,
    // The screen of tmux is a state and tells no events, so it is looked at again.
    until: async (pattern) => {
      const endAt = Date.now() + TIMEOUT_MS;
      for (;;) {
        const seen = await screen();
        if (pattern.test(seen)) return seen;
        if (Date.now() > endAt) throw new Error(`the screen never matched ${pattern}:\n${seen}`);
        await sleep(50);
      }
    },
    [Symbol.asyncDispose]: async () => void (await tmux("kill-server").catch(() => undefined)),
  };
}
