import { type DoctorReport, runDoctor } from "../../control/setup/doctor.js";
import { EXIT, type ExitCode } from "../exit-code.js";
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
  if (isolation !== undefined) {
    const { limits } = isolation;
    parts.push(
      formatTable(
        ["ISOLATION", ""],
        [
          ["runtime", `${isolation.runtime} ${isolation.runtimeVersion}`],
          ["namespaces", isolation.namespaces.join(" ")],
          ["root inside", `uid ${isolation.hostUidOfRoot} on this machine`],
          ["system calls", isolation.seccomp === "none" ? "not filtered" : `filtered (${isolation.seccomp} profile)`],
          [
            "limits",
            Object.entries(limits)
              .map(([name, isKept]) => `${name}: ${isKept ? "yes" : "no"}`)
              .join(", "),
          ],
          ["network", isolation.network === "none" ? "loopback of its own only" : isolation.network],
          ...isolation.caveats.map((caveat) => ["not protected", caveat]),
        ],
      ),
    );
  }
  parts.push(isReady ? "sandboxes run on this machine\n" : "sandboxes do not run on this machine yet\n");
  return parts.join("\n");
}
