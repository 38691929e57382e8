import { type DoctorReport, runDoctor } from "../../control/setup/doctor.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { toIsolationRows } from "../isolation-view.js";
import { formatTable, writeJson, writeOut } from "../output.js";

/** `abx doctor`: status 1 when no sandbox can run here. */
export async function runDoctorCommand(options: { readonly json?: boolean }): Promise<ExitCode> {
  const report = await runDoctor();
  if (options.json) await writeJson(report);
  else await writeOut(describe(report));
  return report.isReady ? EXIT.ok : EXIT.general;
}

function describe({ isReady, checks, isolation }: DoctorReport): string {
  const rows = checks.map(({ name, status, detail, fix }) => [status, name, fix === undefined ? detail : `${detail} (fix: ${fix})`]);
  const parts = [formatTable(["STATUS", "CHECK", "DETAIL"], rows)];
  if (isolation !== undefined) parts.push(formatTable(["ISOLATION", ""], toIsolationRows(isolation)));
  parts.push(isReady ? "sandboxes run on this machine\n" : "sandboxes do not run on this machine yet\n");
  return parts.join("\n");
}
