import { getSystemErrorName } from "node:util";
import type { CallBridge } from "./libc.js";

/** Room for the C structures of every C library, whose sizes are 80 and 336 bytes at most. */
const STRUCT_BYTES = 512;
/** A set of signals has 1024 bits. */
const SIGNAL_SET_BYTES = 128;
// spawn.h and sys/wait.h of Linux.
const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const POSIX_SPAWN_SETSID = 0x80;
const WNOHANG = 1;

/** A program to start, with nothing left to look up. */
export interface PosixSpawnRequest {
  /** Absolute path. */
  readonly file: string;
  /** With the program's own name first. */
  readonly argv: readonly string[];
  /** `NAME=value` each. */
  readonly env: readonly string[];
  readonly cwd: string;
  /** Standard input, output and error; none of them may be 0, 1 or 2. */
  readonly stdio: readonly [number, number, number];
}

/** Starts programs with posix_spawn(3). */
export interface PosixSpawner {
  /**
   * Start a program as the leader of a session of its own; returns its pid. `onExit` gets the status of wait(2), never before this returns.
   *
   * @throws an `Error` whose `code` names the failure of the system call, as Node's own errors do.
   */
  spawn(request: PosixSpawnRequest, onExit: (status: number) => void): number;
  /** Start nothing more; what runs is still waited for, so that nothing is left of it. */
  close(): void;
}

/**
 * Bind posix_spawn(3).
 *
 * Node starts a program by fork, which copies the page tables of the daemon (milliseconds in which nothing else happens) and makes each
 * page fault once more afterwards. posix_spawn shares the memory until the program is executed.
 *
 * @throws when the C library lacks one of the functions.
 */
export function bindPosixSpawn(bridge: CallBridge): PosixSpawner {
  const library = bridge.load(null);
  const bind = (prototype: string) => {
    const call = library.func(prototype);
    return (...args: Parameters<typeof call>) => Number(call(...args));
  };
  const initActions = bind("int posix_spawn_file_actions_init(uint8_t *actions)");
  const destroyActions = bind("int posix_spawn_file_actions_destroy(uint8_t *actions)");
  const addDup = bind("int posix_spawn_file_actions_adddup2(uint8_t *actions, int fd, int target)");
  const addChdir = bind("int posix_spawn_file_actions_addchdir_np(uint8_t *actions, const char *path)");
  const initAttributes = bind("int posix_spawnattr_init(uint8_t *attributes)");
  const setFlags = bind("int posix_spawnattr_setflags(uint8_t *attributes, int16_t flags)");
  const setDefaults = bind("int posix_spawnattr_setsigdefault(uint8_t *attributes, const uint8_t *signals)");
  const setMask = bind("int posix_spawnattr_setsigmask(uint8_t *attributes, const uint8_t *signals)");
  const posixSpawn = bind(
    "int posix_spawn(int32_t *pid, const char *file, uint8_t *actions, uint8_t *attributes, const char **argv, const char **env)",
  );
  const waitpid = bind("int waitpid(int pid, int32_t *status, int options)");

  const actions = Buffer.alloc(STRUCT_BYTES);
  const attributes = Buffer.alloc(STRUCT_BYTES);
  initAttributes(attributes);
  setFlags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  setDefaults(attributes, Buffer.alloc(SIGNAL_SET_BYTES, 0xff));
  setMask(attributes, Buffer.alloc(SIGNAL_SET_BYTES));

  let isClosed = false;
  const running = new Map<number, (status: number) => void>();
  const pid = new Int32Array(1);
  const status = new Int32Array(1);
  // One signal may stand for several processes, and also for those that Node started and waits for itself.
  const reap = () => {
    for (const [child, onExit] of running) {
      if (waitpid(child, status, WNOHANG) !== child) continue;
      running.delete(child);
      onExit(status[0] ?? 0);
    }
    if (isClosed && running.size === 0) process.off("SIGCHLD", reap);
  };
  process.on("SIGCHLD", reap);

  return {
    spawn({ file, argv, env, cwd, stdio }, onExit) {
      assertDone(initActions(actions));
      try {
        for (const [target, fd] of stdio.entries()) assertDone(addDup(actions, fd, target));
        assertDone(addChdir(actions, cwd));
        assertDone(posixSpawn(pid, file, actions, attributes, [...argv, null], [...env, null]));
      } finally {
        destroyActions(actions);
      }
      const child = pid[0] ?? 0;
      running.set(child, onExit);
      return child;
    },
    close() {
      isClosed = true;
      reap();
    },
  };
}

/** These functions return the number of the error. */
function assertDone(errno: number): void {
  if (errno === 0) return;
  const code = getSystemErrorName(-errno);
  throw Object.assign(new Error(`posix_spawn failed: ${code}`), { code });
}
