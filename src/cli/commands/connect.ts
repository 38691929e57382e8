import { Sandbox } from "../../index.js";
import { exitStatusOf, signalOfEnding } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { openLocalTerminal } from "../local-terminal.js";
import { writeErr, writeOut } from "../output.js";

export interface ConnectCommandOptions {
  readonly cwd?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** `abx connect`: a shell in a terminal of the sandbox; it ends with this process. */
export async function runConnectCommand(sandboxId: string, options: ConnectCommandOptions, outputClosed: AbortSignal): Promise<number> {
  const sandbox = await Sandbox.connect(sandboxId);
  const local = openLocalTerminal();
  const handle = await sandbox.pty.create({
    ...local.size(),
    cwd: options.cwd,
    user: options.user,
    envs: { TERM: process.env.TERM || undefined },
    timeoutMs: 0,
    onData: writeOut,
  });
  const kill = (): void => void handle.kill().catch(() => undefined);
  using signals = watchEndingSignals(kill);
  outputClosed.addEventListener("abort", kill);
  if (outputClosed.aborted) kill();

  let outcome: Awaited<ReturnType<typeof handle.waitForOutcome>>;
  {
    using _ = local.attach({
      onInput: (data) => handle.sendStdin(data),
      // Ctrl-D, by which a shell in a terminal sees the end of its input.
      onInputEnd: () => handle.closeStdin(),
      onResize: (size) => sandbox.pty.resize(handle.pid, size),
    });
    outcome = await handle.waitForOutcome();
  }
  const signal = signalOfEnding(outcome.error);
  const status = signals.received === undefined ? exitStatusOf(outcome.exitCode, signal) : exitStatusOf(0, signals.received);
  // Stdout belongs to the terminal.
  if (options.json) await writeErr(`${JSON.stringify({ sandboxId, exitStatus: status, signal: signal ?? null })}\n`);
  return status;
}
