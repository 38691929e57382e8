import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { LibcLoader } from "../native/libc.js";
import { bindPosixSpawn, type PosixSpawner } from "../native/posix-spawn.js";
import { type ExitStatus, exitOfWait } from "./exit-status.js";
import type { LaunchPlan } from "./launch.js";
import { spawnError } from "./spawn-error.js";
import { hasUnsafeVariables, switchUser } from "./user-switch.js";

/** Standard input, output and error of a program. */
export type Stdio = readonly [number, number, number];

/** Starts programs on descriptors, each as the leader of a session of its own. */
export interface ProgramStarter {
  /** Do ahead what the first start would wait for. */
  prepare(): void;
  /**
   * Start a program; resolves to its pid. `onExit` is called once, after that.
   *
   * @throws {@link InvalidArgumentError} the kernel refuses the program or the size of its arguments; {@link RateLimitError} it has no
   * room for one more.
   */
  start(plan: LaunchPlan, stdio: Stdio, onExit: (exit: ExitStatus) => void): Promise<number>;
  close(): void;
}

/**
 * Two ways lead to a process: posix_spawn(3), which is fast and cannot change the user, and Node's own, which copies the daemon first. The
 * first one needs the bridge to the C library, and for another user than root a program that changes the user and then executes the target.
 * That program could only report as its own exit that the target cannot be executed, so where this may happen Node's way is taken.
 */
export function createProgramStarter(libc: LibcLoader): ProgramStarter {
  let native: PosixSpawner | null | undefined;
  const openNative = (): PosixSpawner | null => {
    if (native === undefined) {
      try {
        native = bindPosixSpawn(libc.bridge());
      } catch {
        native = null;
      }
    }
    return native;
  };
  return {
    prepare: () => void openNative(),
    async start(plan, stdio, onExit) {
      const spawner = openNative();
      const argv = spawner === null ? undefined : directArgv(plan);
      if (spawner === null || argv === undefined) return startByNode(plan, stdio, onExit);
      const env = Array.from(plan.env, ([name, value]) => `${name}=${value}`);
      try {
        return spawner.spawn({ ...argv, env, cwd: plan.cwd, stdio }, (status) => onExit(exitOfWait(status)));
      } catch (error) {
        throw spawnError(error, plan);
      }
    },
    close: () => native?.close(),
  };
}

/** What posix_spawn executes; `undefined` when the plan needs Node's way. */
function directArgv(plan: LaunchPlan): { readonly file: string; readonly argv: readonly string[] } | undefined {
  const { file, args, ids, isWrapped } = switchUser(plan, false);
  if (ids !== undefined) return undefined;
  if (!isWrapped) return { file, argv: [plan.argv0, ...args] };
  if (hasUnsafeVariables(plan.env) || !isOpenToAll(plan.file)) return undefined;
  return { file, argv: [file, ...args] };
}

const ALL_READ_AND_EXECUTE = 0o005;
const ALL_PASS = 0o001;
const ELF = Buffer.from("\x7fELF", "latin1");

/** A binary that every user may execute and reach. */
function isOpenToAll(file: string): boolean {
  try {
    if ((statSync(file).mode & ALL_READ_AND_EXECUTE) !== ALL_READ_AND_EXECUTE) return false;
    for (let directory = dirname(file); ; directory = dirname(directory)) {
      if ((statSync(directory).mode & ALL_PASS) === 0) return false;
      if (directory === "/") return startsWithElf(file);
    }
  } catch {
    return false;
  }
}

function startsWithElf(file: string): boolean {
  const fd = openSync(file, "r");
  try {
    const head = Buffer.alloc(ELF.length);
    readSync(fd, head);
    return head.equals(ELF);
  } finally {
    closeSync(fd);
  }
}

async function startByNode(plan: LaunchPlan, stdio: Stdio, onExit: (exit: ExitStatus) => void): Promise<number> {
  const child = spawnAsUser(plan, stdio);
  if (child.pid === undefined) throw spawnError(await nextError(child), plan);
  // A later 'error' event reports a failed kill, which its caller sees too.
  child.on("error", () => {});
  child.once("exit", (code, signal) => onExit(signal === null ? { kind: "exited", code: code ?? 0 } : { kind: "signaled", signal }));
  child.unref();
  return child.pid;
}

function spawnAsUser(plan: LaunchPlan, stdio: Stdio): ChildProcess {
  const { file, args, env, ids, isWrapped } = switchUser(plan, true);
  try {
    return spawn(file, [...args], {
      ...(isWrapped ? {} : { argv0: plan.argv0 }),
      ...ids,
      cwd: plan.cwd,
      env: Object.fromEntries(env),
      stdio: [...stdio],
      detached: true,
    });
  } catch (error) {
    throw spawnError(error, plan);
  }
}

function nextError(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("error", resolve));
}
