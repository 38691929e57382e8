import { prunePlatform } from "../../control/setup/prune.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatBytes } from "../format-bytes.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut, writeTable } from "../output.js";

export interface SystemPruneOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `abx system prune`: on this machine, whatever server the settings name. */
export async function runSystemPruneCommand({ dryRun = false, json }: SystemPruneOptions, notices: Notices): Promise<ExitCode> {
  const items = await prunePlatform({ isDryRun: dryRun, onProgress: (line) => void notices.tell(`abx: ${line}`) });
  const freedBytes = items.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (json) {
    await writeJson({ isDryRun: dryRun, freedBytes, items });
    return EXIT.ok;
  }
  if (notices.isQuiet) {
    await writeOut(items.map(({ path }) => `${path}\n`).join(""));
    return EXIT.ok;
  }
  if (items.length > 0) {
    await writeTable(
      ["KIND", "SIZE", "PATH"],
      items.map(({ kind, path, sizeBytes }) => [kind, formatBytes(sizeBytes), path]),
    );
  }
  await notices.tell(`abx: ${dryRun ? "would free" : "freed"} ${formatBytes(freedBytes)}`);
  return EXIT.ok;
}
