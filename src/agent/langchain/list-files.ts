import type { LsResult } from "deepagents";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import type { EntryInfo } from "../entry-info.js";
import type { BackendCall } from "./backend-call.js";

/** List a directory. One that is not there has no entries, by the rules of the framework. */
export async function listFiles(sandbox: Sandbox, path: string, call: BackendCall): Promise<LsResult> {
  try {
    return { files: (await sandbox.files.list(path, call)).map(toFileInfo) };
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "file_not_found") return { files: [] };
    throw error;
  }
}

function toFileInfo({ path, type, size, modifiedTime }: EntryInfo) {
  const isDirectory = type === "dir";
  return {
    path: isDirectory ? `${path}/` : path,
    is_dir: isDirectory,
    size: isDirectory ? 0 : size,
    ...(modifiedTime !== undefined && { modified_at: modifiedTime.toISOString() }),
  };
}
