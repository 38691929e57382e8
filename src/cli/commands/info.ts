import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatTable, writeJson, writeOut } from "../output.js";
import { toSandboxJson } from "../sandbox-view.js";

/** `abx info`. */
export async function runInfoCommand(sandboxId: string, options: { readonly json?: boolean }): Promise<ExitCode> {
  const fields = toSandboxJson(await Sandbox.getInfo(sandboxId));
  if (options.json) await writeJson(fields);
  else
    await writeOut(
      formatTable(
        ["FIELD", "VALUE"],
        Object.entries(fields).map(([name, value]) => [name, toCell(value)]),
      ),
    );
  return EXIT.ok;
}

function toCell(value: unknown): string {
  if (value === null) return "-";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
