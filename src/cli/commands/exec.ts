import { type CommandBytes, type CommandHandle, Sandbox } from "../../index.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { exitStatusOf, signalOfEnding } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { runInTerminal } from "../terminal-session.js";

export interface ExecCommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: string;
  /** Seconds. */
  readonly timeout: number;
  /** Hand stdin on even where it is a terminal. */
  readonly interactive?: boolean;
  /** Run it in a terminal. */
  readonly tty?: boolean;
  readonly json?: boolean;
}

/** What `--json` holds of stdout and of stderr at most; plain output is passed on as it comes and not held at all. */
const MAX_JSON_OUTPUT_BYTES = 64 * 1024 * 1024;

/** `abx exec`: the command belongs to this process, so whatever ends this process early ends the command too. */
export async function runExecCommand(
  sandboxId: string,
  words: readonly string[],
  options: ExecCommandOptions,
  outputClosed: AbortSignal,
): Promise<number> {
  const commandLine = quoteShellCommand(words);
  const sandbox = await Sandbox.connect(sandboxId);
  if (options.tty) {
    const terminal = { ...options, command: commandLine, timeoutMs: options.timeout * 1000 };
    return (await runInTerminal(sandbox, terminal, outputClosed)).status;
  }
  const forwardsInput = options.interactive === true || !process.stdin.isTTY;
  const handle = await sandbox.commands.start(commandLine, {
    cwd: options.cwd,
    user: options.user,
    envs: options.env,
    timeoutMs: options.timeout * 1000,
    stdin: forwardsInput,
    format: "bytes",
    maxOutputBytes: options.json ? MAX_JSON_OUTPUT_BYTES : 0,
    ...(!options.json && { onStdout: writeOut, onStderr: writeErr }),
    onGap: ({ missingBytes }) => writeErr(`abx: the connection broke and ${missingBytes ?? "some"} bytes of output are missing\n`),
  });

  const kill = (): void => void handle.kill().catch(() => undefined);
  using signals = watchEndingSignals(kill);
  outputClosed.addEventListener("abort", kill);
  if (outputClosed.aborted) kill();
  if (forwardsInput) void forwardInput(handle);

  const outcome = await handle.waitForOutcome();
  if (signals.received !== undefined) return exitStatusOf(0, signals.received);
  const signal = signalOfEnding(outcome.error);
  if (options.json) {
    const { exitCode, stdout, stderr, truncatedBytes, missingBytes } = outcome;
    await writeJson({
      exitCode: signal === undefined ? exitCode : null,
      signal: signal ?? null,
      stdout,
      stderr,
      ...(truncatedBytes !== undefined && { truncatedBytes }),
      ...(missingBytes !== undefined && { missingBytes }),
    });
  }
  return exitStatusOf(outcome.exitCode, signal);
}

/** Copies stdin to the command until either ends; a command that no longer reads is no error, as in a pipe. */
async function forwardInput(handle: CommandHandle<CommandBytes>): Promise<void> {
  try {
    for await (const chunk of process.stdin) await handle.sendStdin(chunk as Uint8Array);
    await handle.closeStdin();
  } catch {
    // The command ended or closed its stdin; how it ended is reported by its outcome.
  }
}
