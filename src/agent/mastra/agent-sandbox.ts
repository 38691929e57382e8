import {
  type CommandResult,
  type ExecuteCommandOptions,
  MastraSandbox,
  type ProviderStatus,
  SandboxAbortError,
  type SandboxCloneOptions,
  type SandboxFileInput,
  type SandboxInfo,
  type SandboxNetworking,
  SandboxNotReadyError,
  type SandboxStartOptions,
  type SandboxStartResult,
  validateSandboxFileMode,
  type WriteFilesOptions,
} from "@mastra/core/workspace";
import { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellCommand, quoteShellWord } from "../../shared/shell-quote.js";
import { portUrl } from "../port-url.js";
import { hasEnded, type SandboxLife } from "../sandbox-life.js";
import { QUICK_MS } from "../tool-context.js";
import { findWorkingDirectory } from "../working-directory.js";
import type { AgentSandboxOptions } from "./agent-sandbox-options.js";
import { AgentSandboxProcesses } from "./agent-sandbox-processes.js";
import { type InstructionsContext, toInstructions } from "./instructions.js";
import { SandboxAcquisition } from "./sandbox-acquisition.js";

/** What a call of {@link AgentSandbox.use} needs. */
export interface UseOptions {
  /** Milliseconds that the call may take; the sandbox lives at least as long. @defaultValue 60_000 */
  readonly callMs?: number | undefined;
}

/** Bytes of each stream of a command that are kept, the newest: no command fills the memory of this program. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/**
 * A sandbox as a provider of Mastra workspaces.
 *
 * `start()` finds or makes it, `stop()` pauses it with its processes, `destroy()` kills it. Everything else starts it when it is needed. A
 * sandbox that turns out to have ended is an error once; the next call has the next sandbox.
 */
export class AgentSandbox extends MastraSandbox {
  readonly id: string;
  override readonly name = "AgentSandbox";
  readonly provider = "agent-sandbox";
  status: ProviderStatus = "pending";
  declare readonly processes: AgentSandboxProcesses;
  override readonly networking: SandboxNetworking = { getPortUrl: (port) => this.#portUrl(port) };
  override readonly supportsCheckpoints = true;
  readonly #options: AgentSandboxOptions;
  readonly #acquisition: SandboxAcquisition;
  readonly #createdAt = new Date();
  #life: SandboxLife | undefined;
  #lastUsedAt: Date | undefined;
  /** Home of the user of the sandbox. */
  #home: string | undefined;

  constructor(options: AgentSandboxOptions = {}) {
    super({ ...options, name: "AgentSandbox", processes: new AgentSandboxProcesses() });
    this.id = options.id ?? options.sandboxId ?? options.sandbox?.sandboxId ?? `agent-sandbox-${crypto.randomUUID()}`;
    this.#options = options;
    this.#acquisition = new SandboxAcquisition(options);
  }

  /** The sandbox itself; `undefined` before the first start, and after it ended. */
  get sandbox(): Sandbox | undefined {
    return this.#life?.sandbox;
  }

  /**
   * Find the sandbox, or make it; a paused one is resumed. Its working directory is made where it is missing.
   *
   * @throws {@link SandboxNotFoundError} there is none with the `sandboxId` of the options; `signal.reason` on an abort; else as
   * {@link Sandbox.create}.
   */
  override async start({ abortSignal: signal }: SandboxStartOptions = {}): Promise<SandboxStartResult> {
    const { life, outcome } = await this.#acquisition.acquire(this.sandbox, signal);
    this.#life = life;
    await this.#findDirectories(life.sandbox, signal);
    return { outcome };
  }

  /** Pause the sandbox; its processes stand still and go on with the next start. One of yours is left as it is. */
  override async stop(): Promise<void> {
    await this.processes.detachAll();
    if (this.#options.sandbox === undefined && this.sandbox !== undefined) {
      await this.sandbox.pause().catch((error: unknown) => {
        if (!hasEnded(error)) throw error;
        this.#life = undefined;
      });
    }
    this.status = "stopped";
  }

  /** Kill the sandbox, also one that an earlier run made. One of yours is left as it is. */
  override async destroy(): Promise<void> {
    await this.processes.detachAll();
    if (this.#options.sandbox === undefined) {
      const sandboxId = this.sandbox?.sandboxId ?? (await this.#acquisition.find(undefined));
      if (sandboxId !== undefined) await Sandbox.kill(sandboxId, this.#options.create);
    }
    this.#life = undefined;
    this.status = "destroyed";
  }

  /** Whether it runs and answers. */
  async isReady(): Promise<boolean> {
    return this.status === "running" && this.sandbox !== undefined && (await this.sandbox.isRunning());
  }

  /** Start the sandbox where it does not run, and do something with it. */
  async use<T>(action: (sandbox: Sandbox) => Promise<T>, { callMs = QUICK_MS }: UseOptions = {}): Promise<T> {
    await this.ensureRunning();
    const life = this.#life;
    if (life === undefined) throw new SandboxNotReadyError(this.id);
    this.#lastUsedAt = new Date();
    try {
      await life.prolong(callMs);
      return await action(life.sandbox);
    } catch (error) {
      if (hasEnded(error)) this.#forget(life);
      throw error;
    }
  }

  /** Keep the sandbox alive until `work` settles, which may also tell that it has ended. */
  holdFor(work: Promise<unknown>): void {
    const life = this.#life;
    const release = life?.hold();
    work.then(release, (error: unknown) => {
      release?.();
      if (life !== undefined && hasEnded(error)) this.#forget(life);
    });
  }

  /** The absolute path in the sandbox; relative ones begin in the working directory, `~` is the home of its user. */
  resolvePath(path: string): string {
    const isInHome = path === "~" || path.startsWith("~/");
    const base = isInHome ? this.#home : this.workingDirectory;
    if (path.startsWith("/") || base === undefined) return path;
    const relative = path.slice(isInHome ? 1 : 0).replace(/^(\.?\/+)+/, "");
    return relative === "" || relative === "." ? base : `${base.replace(/\/$/, "")}/${relative}`;
  }

  /**
   * Run a line of bash to its end, with `args` as further words. A time limit that passed and an abort give a result too: the exit code is
   * 124 or 137, with what was printed until then. Of each stream the newest 16 MiB are kept, unless `maxRetainedBytes` says otherwise.
   */
  override async executeCommand(command: string, args: string[] = [], options: ExecuteCommandOptions = {}): Promise<CommandResult> {
    const line = [command, ...args.map(quoteShellWord)].join(" ");
    const maxRetainedBytes = options.maxRetainedBytes ?? MAX_OUTPUT_BYTES;
    const process = await this.processes.spawn(line, { ...options, maxRetainedBytes, stdinMode: "ignore" });
    try {
      return { ...(await process.wait()), command: line, args };
    } finally {
      this.processes.release(process.pid);
    }
  }

  /** Write several files. @throws `SandboxAbortError` on an abort; what was written before stays. */
  override async writeFiles(files: SandboxFileInput[], { abortSignal: signal }: WriteFilesOptions = {}): Promise<void> {
    for (const { mode } of files) if (mode !== undefined) validateSandboxFileMode(mode);
    try {
      await this.use(async (sandbox) => {
        const entries = files.map(({ path, content, mode }) => ({ path: this.resolvePath(path), data: content, mode }));
        await sandbox.files.writeFiles(entries, { signal });
        const chmods = entries.flatMap(({ path, mode }) =>
          mode === undefined ? [] : [quoteShellCommand(["chmod", mode.toString(8), path])],
        );
        if (chmods.length > 0) await sandbox.commands.run(chmods.join(" && "), { cwd: "/", signal });
      });
    } catch (error) {
      if (signal?.aborted) throw new SandboxAbortError("writeFiles", signal.reason);
      throw error;
    }
  }

  /** Keep the files under the name of the checkpoint; nothing happens where the options name none. */
  override async snapshot(): Promise<void> {
    const { checkpointName } = this.#options;
    if (checkpointName !== undefined) await this.use((sandbox) => sandbox.createSnapshot({ name: checkpointName }));
  }

  /** Another one with the same options and these over them. Nothing is made before it is started. */
  clone(options: SandboxCloneOptions = {}): AgentSandbox {
    const { id, sandboxId, env, workingDirectory, idleTimeoutMinutes, checkpointName, seedCheckpointName } = options;
    const { id: _, sandboxId: __, sandbox: ___, ...same } = this.#options;
    return new AgentSandbox({
      ...same,
      id,
      sandboxId,
      create: {
        ...same.create,
        ...(env !== undefined && { envs: { ...same.create?.envs, ...env } }),
        ...(idleTimeoutMinutes !== undefined && { timeoutMs: idleTimeoutMinutes * 60_000 }),
      },
      ...(workingDirectory !== undefined && { workingDirectory }),
      ...(checkpointName !== undefined && { checkpointName }),
      ...(seedCheckpointName !== undefined && { seedCheckpointName }),
    });
  }

  override async getInfo(): Promise<SandboxInfo> {
    const { id, name, provider, status, sandbox } = this;
    const lastUsedAt = this.#lastUsedAt;
    const known = { id, name, provider, status, createdAt: this.#createdAt, ...(lastUsedAt !== undefined && { lastUsedAt }) };
    const info = await sandbox?.getInfo().catch((error: unknown) => {
      if (!hasEnded(error)) throw error;
      return undefined;
    });
    if (info === undefined) return known;
    return {
      ...known,
      createdAt: info.startedAt,
      ...(info.state === "running" && { timeoutAt: info.endAt }),
      resources: { memoryMB: info.memoryMB, cpuCores: info.cpuCount },
      metadata: { sandboxId: info.sandboxId, template: info.name ?? info.templateId, state: info.state },
    };
  }

  override getInstructions(context?: InstructionsContext): string {
    const place = this.workingDirectory === undefined ? "" : ` They start in ${this.workingDirectory}.`;
    const usual =
      `Commands run in bash, in an isolated Linux sandbox that is not the machine of this program.${place} ` +
      "Commands cannot ask for input. Files stay between commands; variables and the directory of a cd do not.";
    return toInstructions(this.#options.instructions, usual, context);
  }

  async #findDirectories(sandbox: Sandbox, signal: AbortSignal | undefined): Promise<void> {
    const { files } = sandbox;
    this.#home = (await files.getInfo("~", { signal })).path;
    const { workingDirectory } = this;
    if (workingDirectory !== undefined) {
      await files.makeDir(workingDirectory, { signal });
      this.setWorkingDirectory((await files.getInfo(workingDirectory, { signal })).path);
    } else this.setWorkingDirectory(await findWorkingDirectory(sandbox, { signal }));
  }

  async #portUrl(port: number): Promise<string | null> {
    return this.status === "running" && this.sandbox !== undefined ? portUrl(this.sandbox, port) : null;
  }

  /** The next call finds or makes another sandbox. */
  #forget(life: SandboxLife): void {
    if (this.#life !== life) return;
    void this.processes.detachAll();
    this.status = "stopped";
  }
}
