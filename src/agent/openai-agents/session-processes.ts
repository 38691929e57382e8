import type { ExecCommandArgs, SandboxExecResult, WriteStdinArgs } from "@openai/agents-core/sandbox";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { boundTokens, toExecText } from "./exec-text.js";
import { SessionProcess } from "./session-process.js";

/** Milliseconds that a command is waited for. */
export const EXEC_YIELD_MS = 10_000;
/** Milliseconds that a running process is waited for once something was typed. */
export const WRITE_YIELD_MS = 250;

const DEFAULT_SHELL = "/bin/bash";

/** Where the commands of a session run. */
export interface ProcessPlace {
  readonly sandbox: Sandbox;
  readonly cwd: string;
  readonly envs: Readonly<Record<string, string>>;
}

/** The commands of one session that run longer than a call. */
export class SessionProcesses {
  readonly #shell: string;
  /** All that may run, also those of calls that have not answered yet. */
  readonly #live = new Set<SessionProcess>();
  /** Those that a model can name. */
  readonly #named = new Map<number, SessionProcess>();
  #lastId = 0;

  constructor(shell: string | undefined) {
    this.#shell = shell ?? DEFAULT_SHELL;
  }

  /** Start a command and tell how it ended, or under which id it goes on. */
  async exec({ sandbox, cwd, envs }: ProcessPlace, args: ExecCommandArgs): Promise<SandboxExecResult> {
    const startedAt = performance.now();
    const spec = { line: this.#toLine(args), cwd, envs, user: toUser(args.runAs), tty: args.tty ?? false };
    const process = await SessionProcess.start(sandbox, spec);
    this.#live.add(process);
    await process.settle(args.yieldTimeMs ?? EXEC_YIELD_MS);
    const exitCode = this.#exitCodeOf(process);
    const { output, stdout, stderr } = process.take();
    const report = { stdout, stderr, ...boundTokens(output, args.maxOutputTokens), wallTimeSeconds: secondsSince(startedAt) };
    if (exitCode !== undefined) return { ...report, exitCode };
    this.#lastId += 1;
    this.#named.set(this.#lastId, process);
    return { ...report, sessionId: this.#lastId };
  }

  /** Type into a running command and tell what it wrote. What a model got wrong is a text that says so. */
  async write({ sessionId, chars = "", yieldTimeMs, maxOutputTokens }: WriteStdinArgs): Promise<string> {
    const startedAt = performance.now();
    const process = this.#named.get(sessionId);
    if (process === undefined) {
      return toExecText({ output: `write_stdin failed: session not found: ${sessionId}`, wallTimeSeconds: 0, exitCode: 1 });
    }
    const complaint = chars === "" ? undefined : await writeTo(process, chars);
    await process.settle(yieldTimeMs ?? WRITE_YIELD_MS);
    const exitCode = this.#exitCodeOf(process, sessionId);
    const text = [process.take().output, complaint].filter((part) => part !== undefined && part !== "").join("\n");
    const report = { ...boundTokens(text, maxOutputTokens), wallTimeSeconds: secondsSince(startedAt) };
    return toExecText(exitCode === undefined ? { ...report, sessionId } : { ...report, exitCode });
  }

  /** Kill all that run. Those of a sandbox that has ended are forgotten. */
  async killAll(): Promise<void> {
    const live = [...this.#live];
    this.#live.clear();
    this.#named.clear();
    await Promise.allSettled(live.map((process) => process.kill()));
  }

  /** A process that has ended is forgotten; one of which the end is not known is killed as well. */
  #exitCodeOf(process: SessionProcess, sessionId?: number): number | undefined {
    const forget = (): void => {
      this.#live.delete(process);
      if (sessionId !== undefined) this.#named.delete(sessionId);
    };
    try {
      const { exitCode } = process;
      if (exitCode !== undefined) forget();
      return exitCode;
    } catch (error) {
      forget();
      process.abandon();
      throw error;
    }
  }

  #toLine({ cmd, shell, login = true }: ExecCommandArgs): string {
    const program = shell?.trim() || this.#shell;
    if (program === DEFAULT_SHELL && login) return cmd;
    return `exec ${quoteShellCommand([program, login ? "-lc" : "-c", cmd])}`;
  }
}

/** A user name as it is given for a run; none for an empty one. */
export function toUser(runAs: string | undefined): string | undefined {
  return runAs?.trim() || undefined;
}

/** @returns what is wrong, where the process does not take it */
async function writeTo(process: SessionProcess, chars: string): Promise<string | undefined> {
  try {
    await process.write(chars);
    return undefined;
  } catch (error) {
    if (SandboxError.isInstance(error)) return `write_stdin failed: ${error.message}`;
    throw error;
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
