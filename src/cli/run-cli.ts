import { type Command, CommanderError } from "commander";
import { SandboxError } from "../errors/sandbox-error.js";
import type { DotEnv } from "./dot-env.js";
import { refuseForeignKey } from "./dot-env-rule.js";
import { EXIT, exitCodeOf } from "./exit-code.js";
import { nextStepOf } from "./next-step.js";
import { Notices } from "./notices.js";
import { watchClosedOutput, writeErr } from "./output.js";
import { toPrintableLines } from "./printable.js";
import { buildProgram } from "./program.js";
import { styleFor } from "./style.js";

/** What the kernel reports for a program that wrote into a pipe nobody reads (128 + SIGPIPE). */
const EXIT_BROKEN_PIPE = 141;

/** Run one `abx` command line with the settings in `process.env`, of which some are of `dotEnv`; resolves to the exit status. */
export async function runCli(args: readonly string[], dotEnv: DotEnv): Promise<number> {
  const outputClosed = watchClosedOutput();
  let exitCode: number = EXIT.ok;
  let closedOutputCounts = true;
  const ignoreClosedOutput = (): void => {
    closedOutputCounts = false;
  };
  const setExitCode = (code: number): void => {
    exitCode = code;
  };
  try {
    await buildProgram({ outputClosed, setExitCode, ignoreClosedOutput, notices: new Notices() })
      .hook("preAction", (_program, command) => refuseForeignKey(pathOf(command), dotEnv))
      .parseAsync(args, { from: "user" });
    if (!outputClosed.aborted || !closedOutputCounts) return exitCode;
    return (await reportLostOutput(outputClosed)) ? EXIT.general : EXIT_BROKEN_PIPE;
  } catch (error) {
    // Commander has already printed its message, or help or version.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    await writeErr(describeError(error, args));
    return exitCodeOf(error);
  }
}

/** The words that name a command, such as `template deploy`. */
function pathOf(command: Command): string {
  return command.parent === null ? "" : `${pathOf(command.parent)} ${command.name()}`.trim();
}

/** Say why stdout took nothing more; false when its reader has gone away, which needs no word. */
async function reportLostOutput({ reason }: AbortSignal): Promise<boolean> {
  const cause: unknown = reason instanceof Error ? reason.cause : undefined;
  if (!(cause instanceof Error)) return false;
  await writeErr(`abx: stdout cannot be written, so the output is not whole: ${cause.message}\n`);
  return true;
}

function describeError(error: unknown, args: readonly string[]): string {
  const reason = SandboxError.isInstance(error) ? error.reason : "internal";
  const message = error instanceof Error ? error.message : String(error);
  const nextStep = nextStepOf(error);
  const beforeCommand = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  if (beforeCommand.includes("--json"))
    return `${JSON.stringify({ error: { reason, message, ...(nextStep !== undefined && { nextStep }) } })}\n`;
  const stack = !SandboxError.isInstance(error) && process.env.AGENT_SANDBOX_DEBUG && error instanceof Error ? `${error.stack}\n` : "";
  const style = styleFor(process.stderr);
  const advice = nextStep === undefined ? "" : style("dim", ` (${nextStep})`);
  return `${style("red", "abx:")} ${toPrintableLines(message)}${advice}\n${stack}`;
}
