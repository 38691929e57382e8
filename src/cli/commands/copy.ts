import { Sandbox } from "../../index.js";
import { type Copied, type CopyOptions, copyDown, copyUp } from "../copy-files.js";
import { type CopyDirection, toCopyDirection } from "../copy-place.js";
import { EXIT } from "../exit-code.js";
import { exitStatusOf } from "../exit-signal.js";
import { formatBytes } from "../format-bytes.js";
import { watchEndingSignals } from "../local-signals.js";
import type { Notices } from "../notices.js";
import { writeJson } from "../output.js";

export interface CopyCommandOptions {
  readonly user?: string;
  readonly ignore?: readonly string[];
  readonly outsideLinks: "refuse" | "skip" | "keep";
  readonly json?: boolean;
}

/** `abx cp`: what was copied is told on stderr. Whatever ends this process early leaves no part of a file behind. */
export async function runCopyCommand(source: string, target: string, options: CopyCommandOptions, notices: Notices): Promise<number> {
  const direction = toCopyDirection(source, target);
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  let copied: Copied;
  try {
    copied = await copy(direction, { ...options, signal: ending.signal }, notices, source);
  } catch (error) {
    if (signals.received === undefined) throw error;
    return exitStatusOf(0, signals.received);
  }
  if (options.json) await writeJson({ source, target: copied.path, entryCount: copied.entryCount, bytes: copied.bytes });
  else {
    const entries = copied.entryCount === 1 ? "" : `${copied.entryCount} entries, `;
    const place = direction.kind === "upload" ? `${direction.sandboxId}:${copied.path}` : copied.path;
    await notices.tell(`abx: copied ${entries}${formatBytes(copied.bytes)} to ${place}`);
  }
  return EXIT.ok;
}

async function copy(direction: CopyDirection, options: Omit<CopyOptions, "onProgress">, notices: Notices, label: string): Promise<Copied> {
  const sandbox = await Sandbox.connect(direction.sandboxId, { signal: options.signal });
  using progress = notices.openProgress(label);
  const call = { ...options, onProgress: progress.update };
  // Awaited here: the bar stands until the copy is done.
  if (direction.kind === "upload") return await copyUp(sandbox, direction.from, direction.to, call);
  return await copyDown(sandbox, direction.from, direction.to, call);
}
