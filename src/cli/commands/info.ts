import { Sandbox, SandboxError, type SandboxIsolation } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { toIsolationRows } from "../isolation-view.js";
import { formatTable, writeJson, writeOut, writeTable } from "../output.js";
import { toSandboxJson } from "../sandbox-view.js";

/** `abx info`. */
export async function runInfoCommand(sandboxId: string, options: { readonly json?: boolean }): Promise<ExitCode> {
  const fields = toSandboxJson(await Sandbox.getInfo(sandboxId));
  const isolation = await findIsolation(sandboxId);
  if (options.json) {
    await writeJson({ ...fields, isolation: isolation ?? null });
    return EXIT.ok;
  }
  const rows = Object.entries(fields).map(([name, value]) => [name, toCell(value)]);
  await writeTable(["FIELD", "VALUE"], rows);
  if (isolation !== undefined) await writeOut(`\n${formatTable(["ISOLATION", ""], toIsolationRows(isolation))}`);
  return EXIT.ok;
}

/** `undefined` where the server does not tell. */
async function findIsolation(sandboxId: string): Promise<SandboxIsolation | undefined> {
  try {
    return await Sandbox.getIsolation(sandboxId);
  } catch (error) {
    if (SandboxError.isInstance(error) && ["sandbox_not_found", "unimplemented"].includes(error.reason)) return undefined;
    throw error;
  }
}

function toCell(value: unknown): string {
  if (value === null) return "-";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
