import {
  type ProcessInfo,
  SandboxAbortError,
  SandboxExecutionError,
  SandboxProcessManager,
  type SpawnProcessOptions,
} from "@mastra/core/workspace";
import { SandboxError } from "../../errors/sandbox-error.js";
import { toCommandLine } from "../command-line.js";
import { hasEnded } from "../sandbox-life.js";
import type { AgentSandbox } from "./agent-sandbox.js";
import { AgentSandboxProcess } from "./agent-sandbox-process.js";

/**
 * Processes of an {@link AgentSandbox}: those that this program started, and those that run in the sandbox anyway, for example since before
 * the program was started again.
 */
export class AgentSandboxProcesses extends SandboxProcessManager<AgentSandbox> {
  /**
   * Start a line of bash. The sandbox lives at least as long as the process is followed.
   *
   * @throws `SandboxExecutionError` it cannot be started, for example because its directory is missing; `SandboxAbortError` the signal was
   * aborted before.
   */
  override async spawn(command: string, options: SpawnProcessOptions = {}): Promise<AgentSandboxProcess> {
    const { abortSignal, timeout: timeoutMs = 0, cwd, env, stdinMode = "pipe", maxRetainedBytes, onStdout, onStderr } = options;
    if (abortSignal?.aborted) throw new SandboxAbortError("spawn", abortSignal.reason);
    const hasStdin = stdinMode !== "ignore";
    try {
      return await this.sandbox.use(
        ({ commands }) => {
          const line = { cwd: this.sandbox.resolvePath(cwd ?? "."), envs: env, stdin: hasStdin, timeoutMs };
          const follow = { hasStdin, timeoutMs, canCloseStdin: commands.supportsStdinClose, maxRetainedBytes, onStdout, onStderr };
          return this.#track(AgentSandboxProcess.follow((output) => commands.start(command, { ...line, ...output }), follow));
        },
        { callMs: timeoutMs },
      );
    } catch (error) {
      if (!SandboxError.isInstance(error) || hasEnded(error)) throw error;
      throw Object.assign(new SandboxExecutionError(error.message, -1, "", ""), { cause: error });
    }
  }

  /** Processes that were started here, and all that run in the sandbox. */
  override async list(): Promise<ProcessInfo[]> {
    const running = await this.sandbox.use(({ commands }) => commands.list());
    const tracked = [...this._tracked.values()].map(({ pid, command, exitCode }) => ({
      pid,
      running: exitCode === undefined,
      ...(command !== undefined && { command }),
      ...(exitCode !== undefined && { exitCode }),
    }));
    const others = running.filter(({ pid }) => !this._tracked.has(String(pid)));
    // What runs was not read to its end, so this is another process than the one that had the pid before.
    for (const { pid } of others) this._dismissed.delete(String(pid));
    return [...tracked, ...others.map((process) => ({ pid: String(process.pid), command: toCommandLine(process), running: true }))];
  }

  /** A process by its pid; of one that was not started here the output from now on. `undefined` when there is none. */
  override async get(pid: string): Promise<AgentSandboxProcess | undefined> {
    const tracked = this._tracked.get(pid);
    if (tracked !== undefined) return tracked as AgentSandboxProcess; // nothing else is put there
    if (!/^[1-9]\d{0,8}$/.test(pid)) return undefined;
    return this.sandbox.use(async ({ commands }) => {
      const running = await commands.list();
      const found = running.find((process) => String(process.pid) === pid);
      if (found === undefined) return undefined;
      // Whether its standard input is a pipe is not told; writing says so.
      const follow = { hasStdin: true, timeoutMs: 0, canCloseStdin: commands.supportsStdinClose };
      const process = await this.#track(
        AgentSandboxProcess.follow((output) => commands.connect(Number(pid), { ...output, timeoutMs: 0 }), follow),
      );
      process.command = toCommandLine(found);
      return process;
    });
  }

  /** Forget every process without ending it; {@link AgentSandboxProcesses.get} finds those that go on. */
  async detachAll(): Promise<void> {
    const tracked = [...this._tracked.values()] as AgentSandboxProcess[]; // nothing else is put there
    this._tracked.clear();
    await Promise.all(tracked.map((process) => process.detach()));
  }

  async #track(starting: Promise<AgentSandboxProcess>): Promise<AgentSandboxProcess> {
    const process = await starting;
    this._tracked.set(process.pid, process);
    this.sandbox.holdFor(process.wait());
    return process;
  }
}
