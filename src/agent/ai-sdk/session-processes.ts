import type { Experimental_SandboxSession } from "ai";
import type { CommandResult } from "../../sandbox/command-handle.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { exitStatusOf } from "../exit-status.js";
import { describeMissingOutput } from "../missing-output.js";
import { type GuestPlace, pathIn } from "./guest-place.js";
import type { OutputPipeLimits } from "./output-pipe.js";
import { spawnProcess } from "./spawn-process.js";

/** How much of what processes print is held in memory. */
export interface OutputLimits extends OutputPipeLimits {
  /** Bytes of each stream in the result of `run`. */
  readonly maxOutputBytes: number;
}

interface ProcessOptions {
  readonly command: string;
  readonly workingDirectory?: string;
  readonly env?: Record<string, string>;
  readonly abortSignal?: AbortSignal;
}

/** The part of a session that concerns processes. */
export function createSessionProcesses(
  { commands }: Sandbox,
  place: GuestPlace,
  limits: OutputLimits,
): Pick<Experimental_SandboxSession, "run" | "spawn"> {
  /** The port has no time limit: what runs ends by itself, by its signal, or with the sandbox. */
  const toStart = ({ workingDirectory = "", env, abortSignal }: ProcessOptions) => ({
    cwd: pathIn(place, workingDirectory),
    envs: env,
    user: place.user,
    signal: abortSignal,
    timeoutMs: 0,
  });
  return {
    async run(options) {
      options.abortSignal?.throwIfAborted();
      const end = await commands.run(options.command, { ...toStart(options), reject: false, maxOutputBytes: limits.maxOutputBytes });
      return { exitCode: exitStatusOf(end), stdout: end.stdout, stderr: `${end.stderr}${toLossNote(end)}` };
    },
    // The overloads of the port tie `stdin` to the member of the result, which the function below does at run time.
    spawn: (async (options: ProcessOptions & { readonly stdin?: boolean }) =>
      spawnProcess(
        commands,
        options.command,
        { ...toStart(options), stdin: options.stdin === true },
        limits,
      )) as Experimental_SandboxSession["spawn"],
  };
}

/** A result has no member that could say that output is missing. */
function toLossNote(end: CommandResult): string {
  const note = describeMissingOutput(end);
  return note === undefined ? "" : `\n[… ${note} …]\n`;
}
