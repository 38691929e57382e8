import { createRequire } from "node:module";
import { FailedPreconditionError, RateLimitError } from "../errors/error-classes.js";
import { findAddonFile } from "./native/addon-file.js";
import type { LibcLoader } from "./native/libc.js";

// fcntl(2) on Linux.
const F_SETFD = 2;
const FD_CLOEXEC = 1;
const F_DUPFD_CLOEXEC = 1030;

/** The native half of node-pty: it forks a process on a new terminal, which Node itself cannot. */
export interface PtyAddon {
  /**
   * Start `file` in a new session whose controlling terminal is new too; -1 keeps the user or group. The returned descriptor is the
   * controlling side: non-blocking, owned by the caller.
   */
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    isUtf8: boolean,
    helperPath: string,
    onExit: (exitCode: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number; readonly pty: string };
  resize(fd: number, cols: number, rows: number): void;
  /** A second descriptor of a controlling side, which keeps the terminal from hanging up until it is closed too. */
  duplicate(fd: number): number;
}

/** What the prebuilt file offers itself. */
type NativeAddon = Omit<PtyAddon, "duplicate">;

/**
 * Load the add-on: `pty.node` beside the bundled daemon, else the prebuilt package in node_modules. Loading takes milliseconds, so it
 * waits for the first terminal.
 *
 * The add-on opens the controlling side without close-on-exec, so every process started later would hold the terminals of others: could
 * type into them, whoever owns them, and keep them from hanging up. It is set right after the fork, on the thread that starts processes.
 *
 * @throws {@link FailedPreconditionError} it is in neither place. UnimplementedError: the C library cannot be called.
 */
export function loadPtyAddon(libcLoader: LibcLoader): PtyAddon {
  const addon = requireAddon();
  const libc = libcLoader.load();
  return {
    fork: (...args) => {
      const forked = addon.fork(...args);
      libc.fcntl(forked.fd, F_SETFD, FD_CLOEXEC);
      return forked;
    },
    resize: (fd, cols, rows) => addon.resize(fd, cols, rows),
    duplicate: (fd) => {
      const copy = libc.fcntl(fd, F_DUPFD_CLOEXEC, 0);
      if (copy < 0) throw new RateLimitError("the daemon is out of file descriptors: end some processes first");
      return copy;
    },
  };
}

function requireAddon(): NativeAddon {
  const load = createRequire(import.meta.url);
  const target = findAddonFile("pty.node") ?? `@lydell/node-pty-${process.platform}-${process.arch}/pty.node`;
  try {
    return load(target) as NativeAddon;
  } catch (cause) {
    throw new FailedPreconditionError(`terminals are not available: the add-on ${target} cannot be loaded`, { cause });
  }
}
