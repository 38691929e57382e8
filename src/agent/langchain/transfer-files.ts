import type { FileDownloadResponse, FileOperationError, FileUploadResponse } from "deepagents";
import { mapConcurrently } from "../../declarative/map-concurrently.js";
import type { ErrorReason } from "../../errors/reason.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { type BackendCall, MAX_FILE_BYTES } from "./backend-call.js";
import { readBytes } from "./read-file.js";

const CONCURRENCY = 4;

/** Failures that concern one path; any other concerns the sandbox and is thrown. */
const CODES: Readonly<Partial<Record<ErrorReason, FileOperationError>>> = {
  file_not_found: "file_not_found",
  permission_denied: "permission_denied",
  invalid_argument: "invalid_path",
  failed_precondition: "invalid_path",
};

/** Write files, each with an outcome of its own. */
export async function uploadFiles(
  sandbox: Sandbox,
  files: readonly (readonly [path: string, content: Uint8Array])[],
  call: BackendCall,
): Promise<FileUploadResponse[]> {
  try {
    await sandbox.files.writeFiles(
      files.map(([path, data]) => ({ path, data })),
      call,
    );
    return files.map(([path]) => ({ path, error: null }));
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
  // One request stops at its first failure, so each file gets one of its own, in their order: the last one for a path counts.
  const responses: FileUploadResponse[] = [];
  for (const [path, data] of files) {
    responses.push({ path, error: await errorOf(sandbox, path, call, () => sandbox.files.write(path, data, call)) });
  }
  return responses;
}

/** Read files, each with an outcome of its own. One that is too large counts as `permission_denied`. */
export function downloadFiles(sandbox: Sandbox, paths: readonly string[], call: BackendCall): Promise<FileDownloadResponse[]> {
  return mapConcurrently(paths, CONCURRENCY, call.signal, async (path, signal) => {
    let content: Uint8Array | null = null;
    const error = await errorOf(sandbox, path, { ...call, signal }, async () => {
      content = await readBytes(sandbox, path, MAX_FILE_BYTES, { ...call, signal });
    });
    return { path, content, error };
  });
}

async function errorOf(
  sandbox: Sandbox,
  path: string,
  call: BackendCall,
  action: () => Promise<unknown>,
): Promise<FileOperationError | null> {
  try {
    await action();
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code !== "invalid_path") return code;
    // What is wrong is only told in words.
    const info = await sandbox.files.getInfo(path, call).catch(() => undefined);
    if (info?.type === "dir") return "is_directory";
    return info !== undefined && info.size > MAX_FILE_BYTES ? "permission_denied" : code;
  }
}

function codeOf(error: unknown): FileOperationError | undefined {
  return SandboxError.isInstance(error) ? CODES[error.reason] : undefined;
}
