import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";

/** What is at a path; a symbolic link is what it leads to. */
export type PathKind = "file" | "dir" | "other";

/** Files as the tools of a session use them; all paths are absolute. */
export interface SessionFiles {
  /** @param maxBytes only the first bytes; at least 1 */
  read(path: string, maxBytes?: number): Promise<Uint8Array>;
  /** Parents are made, an existing file is replaced. */
  write(path: string, content: string): Promise<void>;
  /** An existing file at the new path is replaced. */
  move(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  list(path: string): Promise<readonly { readonly name: string; readonly kind: PathKind }[]>;
  /** `undefined` where nothing is. */
  kindOf(path: string): Promise<PathKind | undefined>;
  /** Whether it is a directory that can be entered. */
  isDirectory(path: string): Promise<boolean>;
}

/** The files as the daemon shows them; what is made belongs to the template's user. */
export function daemonFiles({ files }: Sandbox): SessionFiles {
  const kindOf = async (path: string): Promise<PathKind | undefined> => {
    try {
      return toKind(await files.getInfo(path));
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "file_not_found") return undefined;
      throw error;
    }
  };
  return {
    read: (path, maxBytes) => files.read(path, { format: "bytes", ...(maxBytes !== undefined && { range: { start: 0, end: maxBytes } }) }),
    write: async (path, content) => void (await files.write(path, content)),
    move: async (from, to) => void (await files.rename(from, to)),
    remove: (path) => files.remove(path),
    list: async (path) => (await files.list(path)).map((entry) => ({ name: entry.name, kind: toKind(entry) })),
    kindOf,
    isDirectory: async (path) => (await kindOf(path)) === "dir",
  };
}

function toKind({ type }: { readonly type?: string | undefined }): PathKind {
  return type === "file" || type === "dir" ? type : "other";
}
