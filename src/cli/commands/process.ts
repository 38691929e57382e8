import { NotFoundError, Sandbox } from "../../index.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut, writeTable } from "../output.js";

export interface ProcessStartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: string;
  readonly tag?: string;
  /** Seconds. */
  readonly timeout: number;
  readonly json?: boolean;
}

/** `abx process list`: without the variables of the processes, which may hold secrets; with `--quiet` the bare pids. */
export async function runProcessList(
  sandboxId: string,
  options: { readonly json?: boolean },
  { isQuiet }: Pick<Notices, "isQuiet">,
): Promise<ExitCode> {
  const processes = await (await Sandbox.connect(sandboxId)).commands.list();
  if (options.json) await writeJson(processes.map(({ envs: _, ...process }) => process));
  else if (isQuiet) await writeOut(processes.map(({ pid }) => `${pid}\n`).join(""));
  else {
    await writeTable(
      ["PID", "TAG", "DIRECTORY", "COMMAND"],
      processes.map(({ pid, tag, cwd, cmd, args }) => [String(pid), tag ?? "-", cwd ?? "-", oneLine([cmd, ...args].join(" "))]),
    );
  }
  return EXIT.ok;
}

/** `abx process start`. */
export async function runProcessStart(sandboxId: string, words: readonly string[], options: ProcessStartOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const { env, cwd, user, tag, timeout } = options;
  const handle = await sandbox.commands.start(quoteShellCommand(words), {
    envs: env,
    cwd,
    user,
    tag,
    timeoutMs: timeout * 1_000,
    maxOutputBytes: 0,
  });
  await handle.disconnect();
  if (options.json) await writeJson({ sandboxId, pid: handle.pid });
  else await writeOut(`${handle.pid}\n`);
  return EXIT.ok;
}

/** `abx process signal` and `abx process kill`. */
export async function runProcessSignal(
  sandboxId: string,
  pid: number,
  signal: string,
  options: { readonly json?: boolean },
): Promise<ExitCode> {
  const { commands } = await Sandbox.connect(sandboxId);
  const wasRunning = signal === "SIGKILL" ? await commands.kill(pid) : await commands.sendSignal(pid, signal);
  if (options.json) await writeJson({ sandboxId, pid, wasRunning });
  if (wasRunning) return EXIT.ok;
  if (options.json) return EXIT.notFound;
  throw new NotFoundError(`no process with the pid ${pid} runs in sandbox ${sandboxId}; \`abx process list ${sandboxId}\` shows what does`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}
