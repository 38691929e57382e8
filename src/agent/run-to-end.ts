import { TimeoutError } from "../errors/error-classes.js";
import type { CommandHandle, CommandResult } from "../sandbox/command-handle.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { boundText } from "./bounded-text.js";
import { describeMissingOutput } from "./missing-output.js";
import { type ToolCallOptions, type ToolResult, textResult } from "./tool.js";

export interface RunOptions extends ToolCallOptions {
  readonly cwd?: string | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
  readonly timeoutMs: number;
  /** Bytes of each stream that are kept: its beginning and its end. */
  readonly maxOutputBytes: number;
  /** Takes all of standard output, in order, instead of what `onProgress` gets of it. */
  readonly onStdout?: ((text: string) => void) | undefined;
}

/** How a command ended, with the beginning and the end of what it printed. */
export type CommandEnd = Pick<
  CommandResult,
  "stdout" | "stderr" | "exitCode" | "signal" | "isOutOfMemory" | "truncatedBytes" | "missingBytes" | "outputMayBeIncomplete"
> & {
  readonly timedOutMs?: number;
};

/** Run a command and keep what it printed also where it was killed for its time. An abort kills it. */
export async function runToEnd(sandbox: Sandbox, command: string, options: RunOptions): Promise<CommandEnd> {
  const { cwd, user, timeoutMs, signal, maxOutputBytes, onProgress } = options;
  const report = onProgress && ((text: string) => reportLine(text, onProgress));
  const output = { onStdout: options.onStdout ?? report, onStderr: report, maxOutputBytes };
  const handle = await sandbox.commands.start(command, { cwd, user, timeoutMs, signal, ...output });
  try {
    return await handle.waitForOutcome();
  } catch (error) {
    if (error instanceof TimeoutError && error.timeout === "command") return toTimedOut(handle, timeoutMs);
    throw error;
  } finally {
    // Without an outcome it may still run, and nobody else has a handle on it.
    if (handle.exitCode === undefined) handle.kill().catch(() => {});
  }
}

/** For a model: how it ended, then what it printed. */
export function toRunResult(end: CommandEnd): ToolResult {
  const parts = [howItEnded(end)];
  for (const stream of ["stdout", "stderr"] as const) {
    if (end[stream] !== "") parts.push(`${stream}:\n${end[stream].replace(/\n$/, "")}`);
  }
  const missing = describeMissingOutput(end);
  if (missing !== undefined) parts.push(`[${missing}]`);
  if (parts.length === 1) parts.push("It printed nothing.");
  return textResult(parts.join("\n"), end.exitCode !== 0);
}

function howItEnded({ exitCode, signal, isOutOfMemory, timedOutMs }: CommandEnd): string {
  if (timedOutMs !== undefined) return `It was killed after ${timedOutMs} ms. Give a larger timeout_ms, or background: true for a service.`;
  if (isOutOfMemory) return "It was killed because the sandbox ran out of memory.";
  return signal === undefined ? `exit code: ${exitCode}` : `It was ended by ${signal}.`;
}

function toTimedOut({ stdout, stderr, truncatedBytes }: CommandHandle, timedOutMs: number): CommandEnd {
  return { stdout, stderr, exitCode: -1, timedOutMs, ...(truncatedBytes > 0 && { truncatedBytes }) };
}

/** Tell what a command does by the last line that it printed. */
export function reportLine(text: string, onProgress: (message: string) => void): void {
  const line = text.trimEnd().split("\n").at(-1)?.trim();
  if (line) onProgress(boundText(line, 200));
}
