import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { InternalError, InvalidArgumentError, RateLimitError } from "../../errors/error-classes.js";
import type { SandboxError } from "../../errors/sandbox-error.js";
import type { FifoPool } from "./fifo-pool.js";
import { InputWriter } from "./input-writer.js";
import { type Launched, type LaunchPlan, type LaunchSink, planUserSwitch, preferForOom } from "./launch.js";
import { openPipeSource } from "./output-source.js";

/**
 * Start a program on pipes, in a process group of its own. A program that cannot be executed rejects, and leaves nothing open.
 *
 * @throws {@link InvalidArgumentError} the kernel refuses the program or the size of its arguments.
 */
export async function launchCommand(
  plan: LaunchPlan,
  hasStdin: boolean,
  sink: LaunchSink,
  pipes: FifoPool,
  readBuffer: Buffer,
): Promise<Launched> {
  const open = new Set<number>();
  const track = (fd: number) => {
    open.add(fd);
    return fd;
  };
  const release = (fd: number) => {
    open.delete(fd);
    return fd;
  };
  try {
    const stdout = pipes.openOutput();
    track(stdout.readFd);
    track(stdout.writeFd);
    const stderr = pipes.openOutput();
    track(stderr.readFd);
    track(stderr.writeFd);
    const stdin = hasStdin ? pipes.openInput() : undefined;
    const stdinFd = track(stdin?.readFd ?? openSync("/dev/null", "r"));
    if (stdin !== undefined) track(stdin.writeFd);

    const child = spawnAsUser(plan, [stdinFd, stdout.writeFd, stderr.writeFd]);
    const pid = child.pid;
    if (pid === undefined) throw spawnError(await nextError(child), plan);
    // A later 'error' event reports a failed kill, which its caller sees too.
    child.on("error", () => {});
    child.once("exit", (code, signal) => sink.onExit(signal === null ? { kind: "exited", code: code ?? 0 } : { kind: "signaled", signal }));
    child.unref();
    preferForOom(pid);
    return {
      pid,
      sources: [
        openPipeSource(release(stdout.readFd), "stdout", sink, readBuffer),
        openPipeSource(release(stderr.readFd), "stderr", sink, readBuffer),
      ],
      input: stdin && new InputWriter(new Socket({ fd: release(stdin.writeFd), readable: false, writable: true })),
    };
  } finally {
    for (const fd of open) closeSync(fd);
  }
}

function spawnAsUser(plan: LaunchPlan, stdio: number[]): ChildProcess {
  const { prefix, ids } = planUserSwitch(plan.user, true);
  const [wrapper, ...wrapperArgs] = prefix;
  try {
    return spawn(wrapper ?? plan.file, wrapper === undefined ? [...plan.args] : [...wrapperArgs, plan.file, ...plan.args], {
      ...(wrapper === undefined ? { argv0: plan.argv0 } : {}),
      ...ids,
      cwd: plan.cwd,
      env: Object.fromEntries(plan.env),
      stdio,
      detached: true,
    });
  } catch (error) {
    throw spawnError(error, plan);
  }
}

function nextError(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("error", resolve));
}

function spawnError(cause: unknown, plan: LaunchPlan): SandboxError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  switch (code) {
    case "E2BIG":
      return new InvalidArgumentError(
        "arguments and environment together exceed the size limit of the kernel (E2BIG): pass large data in a file",
        { cause },
      );
    case "ENOENT":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started: its interpreter (first line) or loader is missing`, {
        cause,
      });
    case "EACCES":
    case "EPERM":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started: user '${plan.user.name}' may not execute it`, { cause });
    case "ENOEXEC":
    case "ELOOP":
    case "ENOTDIR":
    case "EISDIR":
    case "ETXTBSY":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started (${code})`, { cause });
    case "EAGAIN":
    case "ENOMEM":
    case "EMFILE":
    case "ENFILE":
      return new RateLimitError(
        `program '${plan.argv0}' cannot be started: the sandbox is out of processes, memory or descriptors (${code})`,
        { cause },
      );
    default:
      return new InternalError(`program '${plan.argv0}' cannot be started (${code})`, { cause });
  }
}
