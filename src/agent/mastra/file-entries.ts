import type { WalkEntry } from "@mastra/core/workspace";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Files } from "../../sandbox/files.js";
import type { EntryInfo } from "../entry-info.js";

/** What is at a path; `undefined` where nothing is. */
export async function findEntry(files: Files, path: string): Promise<EntryInfo | undefined> {
  try {
    return await files.getInfo(path);
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "file_not_found") return undefined;
    throw error;
  }
}

/** `undefined` for nothing, which a symbolic link that leads nowhere is too. */
export function typeOf(entry: EntryInfo | undefined): "file" | "directory" | undefined {
  if (entry === undefined) return undefined;
  if (entry.type === "dir") return "directory";
  return entry.type === undefined && entry.symlinkTarget !== undefined ? undefined : "file";
}

/** An entry as Mastra lists it, by its path below the directory whose path is `prefix`. */
export function toWalkEntry(entry: EntryInfo, prefix: string): WalkEntry {
  const type = typeOf(entry) ?? "file";
  const { symlinkTarget } = entry;
  return {
    name: entry.name,
    path: entry.path.startsWith(prefix) ? entry.path.slice(prefix.length) : entry.name,
    type,
    ...(type === "file" && symlinkTarget === undefined && { size: entry.size }),
    ...(symlinkTarget !== undefined && { isSymlink: true, symlinkTarget }),
  };
}

/** Whether a name ends with one of the extensions, given with or without their dot. */
export function hasExtension(name: string, extensions: readonly string[]): boolean {
  return extensions.some((extension) => name.endsWith(extension.startsWith(".") ? extension : `.${extension}`));
}

/** The directory in which a path is. */
export function parentOf(path: string): string {
  const parent = path.replace(/\/+$/, "").replace(/(^|\/+)[^/]+$/, "");
  return parent !== "" ? parent : path.startsWith("/") ? "/" : ".";
}
