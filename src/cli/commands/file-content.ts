import { Sandbox } from "../../index.js";
import { countBytes } from "../count-bytes.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeJson, writeOut } from "../output.js";

/** `abx files read`: the bytes as they are, never held whole. */
export async function runFilesRead(
  sandboxId: string,
  path: string,
  options: { readonly user?: string },
  outputClosed: AbortSignal,
): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const content = await sandbox.files.read(path, { format: "stream", user: options.user });
  for await (const chunk of content) {
    await writeOut(chunk);
    if (outputClosed.aborted) break;
  }
  return EXIT.ok;
}

/** `abx files write`: stdin to its end, sent as it comes. */
export async function runFilesWrite(
  sandboxId: string,
  path: string,
  options: { readonly user?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  let sizeBytes = 0;
  const content = countBytes(process.stdin, (bytes) => {
    sizeBytes = bytes;
  });
  const written = await sandbox.files.write(path, content, { user: options.user });
  if (options.json) await writeJson({ path: written.path, sizeBytes });
  return EXIT.ok;
}
