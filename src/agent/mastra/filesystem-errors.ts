import {
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  FileExistsError,
  FileNotFoundError,
  FilesystemError,
  IsDirectoryError,
  NotDirectoryError,
  PermissionError,
} from "@mastra/core/workspace";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { FileProblem, ScriptEnd } from "./file-scripts.js";

/** What was done with which paths, as the user gave them. */
export interface FileCall {
  readonly operation: string;
  readonly path: string;
  /** Where something is copied or moved to. */
  readonly target?: string;
  /** What the path should be. @defaultValue "file" */
  readonly kind?: "file" | "directory";
}

/**
 * A failure of the files of a sandbox in Mastra's classes. What concerns the sandbox and not the path stays as it is.
 *
 * @param typeOf looks at a path where the failure says only that something is of the wrong kind
 */
export async function toFilesystemError(
  error: unknown,
  call: FileCall,
  typeOf: (path: string) => Promise<"file" | "directory" | undefined>,
): Promise<unknown> {
  if (!SandboxError.isInstance(error)) return error;
  switch (error.reason) {
    case "file_not_found":
      return withCause(toProblemError("ENOENT", call), error);
    case "permission_denied":
      return withCause(new PermissionError(call.path, call.operation), error);
    case "not_enough_space":
      return withCause(new FilesystemError(error.message, "ENOSPC", call.path), error);
    case "invalid_argument":
    case "internal": {
      const problem = await problemOf(call, typeOf);
      return withCause(problem ?? new FilesystemError(error.message, "EINVAL", call.path), error);
    }
    default:
      return error;
  }
}

/** The output of a script that did its work. @throws a `FilesystemError` of Mastra, where it did not. */
export function requireDone(end: ScriptEnd, call: FileCall): string {
  if ("stdout" in end) return end.stdout;
  if ("problem" in end) throw toProblemError(end.problem, call);
  if (/permission denied|operation not permitted|read-only file system/i.test(end.message)) {
    throw withCause(new PermissionError(call.target ?? call.path, call.operation), new Error(end.message));
  }
  const code = /no space left/i.test(end.message) ? "ENOSPC" : /not a directory/i.test(end.message) ? "ENOTDIR" : "EIO";
  throw new FilesystemError(`${call.operation} failed: ${end.message}`, code, call.path);
}

/** The error for what stands at a path. `EEXIST` is about the target, where there is one. */
export function toProblemError(problem: FileProblem, { path, target = path, kind = "file" }: FileCall): FilesystemError {
  switch (problem) {
    case "ENOENT":
      return kind === "directory" ? new DirectoryNotFoundError(path) : new FileNotFoundError(path);
    case "EEXIST":
      return new FileExistsError(target);
    case "EISDIR":
      return new IsDirectoryError(path);
    case "ENOTDIR":
      return new NotDirectoryError(target);
    case "ENOTEMPTY":
      return new DirectoryNotEmptyError(path);
  }
}

async function problemOf(
  call: FileCall,
  typeOf: (path: string) => Promise<"file" | "directory" | undefined>,
): Promise<FilesystemError | undefined> {
  const { path, target, kind = "file" } = call;
  if (target !== undefined && kind === "file" && (await typeOf(target)) === "directory") return new IsDirectoryError(target);
  const type = await typeOf(path);
  if (type === "directory" && kind === "file" && target === undefined) return new IsDirectoryError(path);
  if (type === "file" && kind === "directory") return new NotDirectoryError(path);
  const parent = (target ?? path).replace(/\/+[^/]+\/*$/, "");
  if (type === undefined && parent !== "" && (await typeOf(parent)) === "file") return new NotDirectoryError(parent);
  return undefined;
}

function withCause<E extends Error>(error: E, cause: unknown): E {
  return Object.assign(error, { cause });
}
