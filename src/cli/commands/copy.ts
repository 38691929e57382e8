import { Sandbox } from "../../index.js";
import { copyDown, copyUp } from "../copy-files.js";
import { type CopyDirection, toCopyDirection } from "../copy-place.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatBytes } from "../format-bytes.js";
import type { Notices } from "../notices.js";
import { writeJson } from "../output.js";

export interface CopyCommandOptions {
  readonly user?: string;
  readonly ignore?: readonly string[];
  readonly outsideLinks: "refuse" | "skip" | "keep";
  readonly json?: boolean;
}

/** `abx cp`: what was copied is told on stderr. */
export async function runCopyCommand(source: string, target: string, options: CopyCommandOptions, notices: Notices): Promise<ExitCode> {
  const direction: CopyDirection = toCopyDirection(source, target);
  const sandbox = await Sandbox.connect(direction.sandboxId);
  const copied = await (async () => {
    using progress = notices.openProgress(source);
    const call = { ...options, onProgress: progress.update };
    return direction.kind === "upload"
      ? await copyUp(sandbox, direction.from, direction.to, call)
      : await copyDown(sandbox, direction.from, direction.to, call);
  })();
  if (options.json) await writeJson({ source, target: copied.path, entryCount: copied.entryCount, bytes: copied.bytes });
  else {
    const entries = copied.entryCount === 1 ? "" : `${copied.entryCount} entries, `;
    await notices.tell(`abx: copied ${entries}${formatBytes(copied.bytes)} to ${copied.path}`);
  }
  return EXIT.ok;
}
