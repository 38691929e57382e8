import { type CommandResult, Sandbox } from "../../index.js";
import { exitStatusOf, signalOfEnding } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { openLocalTerminal } from "../local-terminal.js";
import { writeErr, writeOut } from "../output.js";

export interface ConnectCommandOptions {
  readonly cwd?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** How long a terminal is waited for that should be killed; it may be out of reach. */
const KILL_TIMEOUT_MS = 3_000;

/** `abx connect`: a shell in a terminal of the sandbox; it ends with this process, and survives broken connections until then. */
export async function runConnectCommand(sandboxId: string, options: ConnectCommandOptions, outputClosed: AbortSignal): Promise<number> {
  const sandbox = await Sandbox.connect(sandboxId);
  const local = openLocalTerminal();
  const session = await sandbox.pty.create({
    ...local.size(),
    cwd: options.cwd,
    user: options.user,
    envs: { TERM: process.env.TERM || undefined },
    timeoutMs: 0,
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
  // Stdout belongs to the terminal.
  if (options.json) await writeErr(`${JSON.stringify({ sandboxId, exitStatus: status, signal: signal ?? null })}\n`);
  return status;
}
