import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { UnimplementedError } from "../../errors/error-classes.js";
import { findAddonFile } from "./addon-file.js";

/** The C library calls that Node does not offer. Each returns what the C function returns; −1 means {@link Libc.errno} says why. */
export interface Libc {
  errno(): number;
  listxattr(path: string, list: Uint8Array, size: number): number;
  getxattr(path: string, name: string, value: Uint8Array, size: number): number;
  setxattr(path: string, name: string, value: Uint8Array, size: number, flags: number): number;
  removexattr(path: string, name: string): number;
  linkat(oldDirectory: number, oldPath: string, newDirectory: number, newPath: string, flags: number): number;
  inotifyInit(flags: number): number;
  inotifyAddWatch(fd: number, path: string, mask: number): number;
  inotifyRemoveWatch(fd: number, watch: number): number;
  fcntl(fd: number, command: number, argument: number): number;
  read(fd: number, buffer: Uint8Array, size: number): number;
  close(fd: number): number;
  pipe2(ends: Int32Array, flags: number): number;
}

/** Loads {@link Libc} at first use, so that a daemon that never needs it pays nothing. */
export interface LibcLoader {
  /** @throws {@link UnimplementedError} the bridge to the C library is not installed beside the daemon. */
  load(): Libc;
  /**
   * What {@link Libc} is made of, for calls that belong elsewhere.
   *
   * @throws {@link UnimplementedError} as {@link load}.
   */
  bridge(): CallBridge;
}

/** A value that a C function takes; arrays of strings end with null. */
type CallArgument = string | number | Uint8Array | Int32Array | readonly (string | null)[];

/** Calls functions of the C library by their prototypes. */
export interface CallBridge {
  load(library: null): { func(prototype: string): (...args: CallArgument[]) => number | bigint };
  errno(): number;
}

/**
 * Create the loader. The bridge is Koffi's prebuilt add-on: `koffi.node` beside the bundled daemon, else that of the installed
 * npm package of this architecture.
 */
export function createLibcLoader(): LibcLoader {
  let bridge: CallBridge | undefined;
  let libc: Libc | undefined;
  const openOnce = () => {
    bridge ??= openBridge();
    return bridge;
  };
  return {
    bridge: openOnce,
    load: () => {
      libc ??= bindLibc(openOnce());
      return libc;
    },
  };
}

function openBridge(): CallBridge {
  const failures: unknown[] = [];
  for (const file of bridgeCandidates()) {
    const module = { exports: {} as unknown };
    try {
      process.dlopen(module, file);
      return module.exports as CallBridge; // the shape of Koffi 3's native exports
    } catch (cause) {
      failures.push(cause);
    }
  }
  throw new UnimplementedError(
    "this daemon has no access to extended attributes and inotify: install 'koffi.node' beside it (package @koromix/koffi-linux-*)",
    { cause: failures[0] },
  );
}

function bridgeCandidates(): string[] {
  const candidates = [findAddonFile("koffi.node") ?? ""];
  try {
    const main = createRequire(import.meta.url).resolve(`@koromix/koffi-linux-${process.arch}`);
    candidates.push(join(dirname(main), `linux_${process.arch}`, "koffi.node"), join(dirname(main), `musl_${process.arch}`, "koffi.node"));
  } catch {
    // Not installed as a package: only the file beside the daemon counts.
  }
  return candidates.filter((file) => existsSync(file));
}

function bindLibc(bridge: CallBridge): Libc {
  const library = bridge.load(null);
  const bind = (prototype: string) => {
    const call = library.func(prototype);
    return (...args: CallArgument[]) => Number(call(...args));
  };
  return {
    errno: () => bridge.errno(),
    listxattr: bind("int64_t listxattr(const char *path, uint8_t *list, uint64_t size)"),
    getxattr: bind("int64_t getxattr(const char *path, const char *name, uint8_t *value, uint64_t size)"),
    setxattr: bind("int setxattr(const char *path, const char *name, const uint8_t *value, uint64_t size, int flags)"),
    removexattr: bind("int removexattr(const char *path, const char *name)"),
    linkat: bind("int linkat(int old_directory, const char *old_path, int new_directory, const char *new_path, int flags)"),
    inotifyInit: bind("int inotify_init1(int flags)"),
    inotifyAddWatch: bind("int inotify_add_watch(int fd, const char *path, uint32_t mask)"),
    inotifyRemoveWatch: bind("int inotify_rm_watch(int fd, int watch)"),
    fcntl: fcntlOf(library),
    read: bind("int64_t read(int fd, uint8_t *buffer, uint64_t size)"),
    close: bind("int close(int fd)"),
    pipe2: bind("int pipe2(int32_t *ends, int flags)"),
  };
}

/** `fcntl` is variadic: the type of its argument stands beside the value. */
function fcntlOf(library: ReturnType<CallBridge["load"]>): Libc["fcntl"] {
  const call = library.func("int fcntl(int fd, int command, ...)");
  return (fd, command, argument) => Number(call(fd, command, "int", argument));
}
