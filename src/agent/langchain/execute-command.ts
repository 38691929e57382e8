import type { ExecuteResponse } from "deepagents";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { assertText } from "../../shared/text-check.js";
import { exitStatusOf } from "../exit-status.js";
import { type CommandEnd, runToEnd } from "../run-to-end.js";
import type { BackendCall } from "./backend-call.js";

export interface ExecuteOptions extends BackendCall {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

/** As timeout(1) has it. */
const TIMED_OUT_EXIT_CODE = 124;

/** Run a command line and give both streams as one, in the order in which they were written. */
export async function executeCommand(sandbox: Sandbox, command: string, options: ExecuteOptions): Promise<ExecuteResponse> {
  assertText("command", command);
  // On the line of the command, so that messages of the shell count lines as the caller does.
  const end = await runToEnd(sandbox, `exec 2>&1; ${command}`, options);
  const note = howItEnded(end);
  // Standard error has only what the shell says when it cannot read the first line.
  const output = joinLines([end.stdout, end.stderr, ...(note === undefined ? [] : [`[${note}]`])]);
  return { output, exitCode: end.timedOutMs === undefined ? exitStatusOf(end) : TIMED_OUT_EXIT_CODE, truncated: isIncomplete(end) };
}

function howItEnded({ timedOutMs, signal, isOutOfMemory }: CommandEnd): string | undefined {
  if (timedOutMs !== undefined) {
    return `The command was killed after ${timedOutMs} ms. Start a service with its output in a file, as in: nohup program > log.txt 2>&1 &`;
  }
  if (isOutOfMemory) return "The command was killed because the sandbox ran out of memory.";
  return signal === undefined ? undefined : `The command was ended by ${signal}.`;
}

function isIncomplete({ truncatedBytes, missingBytes, outputMayBeIncomplete }: CommandEnd): boolean {
  return truncatedBytes !== undefined || missingBytes !== undefined || outputMayBeIncomplete === true;
}

function joinLines(parts: readonly string[]): string {
  return parts
    .filter((part) => part !== "")
    .reduce((text, part) => (text === "" || text.endsWith("\n") ? text + part : `${text}\n${part}`), "");
}
