import { constants } from "node:os";
import { NotEnoughSpaceError, UnimplementedError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Libc, LibcLoader } from "../native/libc.js";
import { fileError } from "./file-error.js";

/** Metadata of files: short texts by lower-case key, kept as extended attributes `user.e2b.<key>`. */
export interface FileMetadata {
  /**
   * All metadata of the file that `path` leads to. Empty when there is none, when the file system keeps none or when the file is
   * gone. Synchronous: about 3 µs for a file without metadata.
   */
  read(path: string): Record<string, string>;
  /**
   * Replace the whole set; an empty set clears it.
   *
   * @throws {@link UnimplementedError} the set is not empty and the file system or this daemon cannot keep attributes;
   * {@link NotEnoughSpaceError} the file has no room for them.
   */
  replace(path: string, metadata: Readonly<Record<string, string>>): void;
}

const PREFIX = "user.e2b.";
const LIST_LIMIT = 65_536; // XATTR_LIST_MAX
const VALUE_LIMIT = 65_536; // XATTR_SIZE_MAX

/** Create the store on the C library. */
export function createFileMetadata(loader: LibcLoader): FileMetadata {
  const buffer = Buffer.allocUnsafeSlow(Math.max(LIST_LIMIT, VALUE_LIMIT));
  let isMissing = false;

  /** The C library, or `undefined` for good once it turned out to be missing. */
  const libcIfPresent = (): Libc | undefined => {
    if (isMissing) return undefined;
    try {
      return loader.load();
    } catch (error) {
      if (!SandboxError.isInstance(error)) throw error;
      isMissing = true;
      return undefined;
    }
  };

  const keysOf = (libc: Libc, path: string): string[] => {
    const length = libc.listxattr(path, buffer, LIST_LIMIT);
    if (length <= 0) return [];
    const names = buffer.toString("utf8", 0, length).split("\0");
    return names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  };

  return {
    read: (path) => {
      const libc = libcIfPresent();
      if (libc === undefined) return {};
      const entries: [string, string][] = [];
      for (const key of keysOf(libc, path)) {
        const length = libc.getxattr(path, PREFIX + key, buffer, VALUE_LIMIT);
        if (length >= 0) entries.push([key, buffer.toString("utf8", 0, length)]);
      }
      return Object.fromEntries(entries);
    },
    replace: (path, metadata) => {
      const isEmpty = Object.keys(metadata).length === 0;
      const libc = isEmpty ? libcIfPresent() : loader.load();
      if (libc === undefined) return;
      for (const key of keysOf(libc, path)) if (!Object.hasOwn(metadata, key)) libc.removexattr(path, PREFIX + key);
      for (const [key, value] of Object.entries(metadata)) {
        const bytes = Buffer.from(value, "utf8");
        if (libc.setxattr(path, PREFIX + key, bytes, bytes.length, 0) !== 0) throw attributeError(libc.errno(), path, key);
      }
    },
  };
}

function attributeError(errno: number, path: string, key: string): SandboxError {
  const { ENOTSUP, ENOSPC, EDQUOT, E2BIG, ERANGE } = constants.errno;
  if (errno === ENOTSUP) {
    return new UnimplementedError(`the file system of '${path}' keeps no extended attributes, so metadata '${key}' cannot be stored there`);
  }
  if (errno === ENOSPC || errno === EDQUOT || errno === E2BIG || errno === ERANGE) {
    return new NotEnoughSpaceError(`'${path}' has no room for metadata '${key}': shorten keys or values`);
  }
  const code = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
  return fileError(Object.assign(new Error(code), { code }), `store metadata '${key}' of`, path);
}
