import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeErr, writeJson, writeOut, writeTable } from "../output.js";

/** `abx snapshot create`. */
export async function runSnapshotCreate(
  sandboxId: string,
  options: { readonly name?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const snapshot = await Sandbox.createSnapshot(sandboxId, { name: options.name });
  if (options.json) await writeJson(snapshot);
  else await writeOut(`${snapshot.snapshotId}\n`);
  return EXIT.ok;
}

/** `abx snapshot list`: every page. */
export async function runSnapshotList(options: { readonly sandbox?: string; readonly json?: boolean }): Promise<ExitCode> {
  const snapshots = await Sandbox.listSnapshots({ sandboxId: options.sandbox }).toArray();
  if (options.json) await writeJson(snapshots);
  else
    await writeTable(
      ["ID", "NAMES"],
      snapshots.map(({ snapshotId, names }) => [snapshotId, names.join(", ")]),
    );
  return EXIT.ok;
}

/** `abx snapshot delete`. */
export async function runSnapshotDelete(snapshotId: string, options: { readonly json?: boolean }): Promise<ExitCode> {
  const deleted = await Sandbox.deleteSnapshot(snapshotId);
  if (options.json) await writeJson({ snapshotId, deleted });
  else if (!deleted) await writeErr(`abx: no snapshot with the id ${snapshotId}\n`);
  return deleted ? EXIT.ok : EXIT.notFound;
}
