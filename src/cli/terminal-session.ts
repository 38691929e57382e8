import type { CommandResult, Sandbox } from "../index.js";
import { exitStatusOf, signalOfEnding } from "./exit-signal.js";
import { watchEndingSignals } from "./local-signals.js";
import { openLocalTerminal } from "./local-terminal.js";
import { writeOut } from "./output.js";

export interface TerminalOptions {
  /** @defaultValue an interactive login shell */
  readonly command?: string | undefined;
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until the terminal is ended. @defaultValue 0, never */
  readonly timeoutMs?: number | undefined;
}

export interface TerminalEnding {
  /** Exit status for this process. */
  readonly status: number;
  /** What ended the program inside, if a signal did. */
  readonly signal: NodeJS.Signals | undefined;
}

/** How long a terminal is waited for that should be killed; it may be out of reach. */
const KILL_TIMEOUT_MS = 3_000;

/** Show a terminal of a sandbox in the terminal of this process, to its end; it ends with this process. */
export async function runInTerminal(sandbox: Sandbox, options: TerminalOptions, outputClosed: AbortSignal): Promise<TerminalEnding> {
  const local = openLocalTerminal();
  const session = await sandbox.pty.create({
    ...local.size(),
    command: options.command,
    cwd: options.cwd,
    user: options.user,
    envs: { TERM: process.env.TERM || undefined, ...options.env },
    timeoutMs: options.timeoutMs ?? 0,
    onData: writeOut,
  });
  const kill = (): void => void session.kill({ requestTimeoutMs: KILL_TIMEOUT_MS }).catch(() => session.disconnect());
  using signals = watchEndingSignals(kill);
  outputClosed.addEventListener("abort", kill);
  if (outputClosed.aborted) kill();

  let outcome: CommandResult | undefined;
  {
    using _ = local.attach({
      // What is typed waits for the connection as long as the terminal does.
      onInput: (data) => session.sendInput(data, { requestTimeoutMs: 0 }),
      // Ctrl-D, by which a shell in a terminal sees the end of its input.
      onInputEnd: () => session.closeStdin(),
      onResize: (size) => session.resize(size),
    });
    try {
      outcome = await session.waitForOutcome();
    } catch (error) {
      // Who asked this process to end does not ask how the terminal did.
      if (signals.received === undefined) throw error;
    }
  }
  const signal = signalOfEnding(outcome?.error);
  const status = signals.received === undefined ? exitStatusOf(outcome?.exitCode ?? 0, signal) : exitStatusOf(0, signals.received);
  return { status, signal };
}
