import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeJson, writeTable } from "../output.js";

/** `abx metrics`. */
export async function runMetricsCommand(
  sandboxId: string,
  options: { readonly minutes?: number; readonly json?: boolean },
): Promise<ExitCode> {
  const start = options.minutes === undefined ? undefined : new Date(Date.now() - options.minutes * 60_000);
  const samples = await Sandbox.getMetrics(sandboxId, { start });
  if (options.json) {
    await writeJson(samples.map(({ timestamp, ...sample }) => ({ timestamp: timestamp.toISOString(), ...sample })));
    return EXIT.ok;
  }
  const rows = samples.map((sample) => [
    sample.timestamp.toISOString(),
    `${sample.cpuUsedPct.toFixed(1)} % of ${sample.cpuCount}`,
    `${toMib(sample.memUsed)} of ${toMib(sample.memTotal)} MiB`,
    `${toMib(sample.diskUsed)} of ${toMib(sample.diskTotal)} MiB`,
  ]);
  await writeTable(["AT", "CPU", "MEMORY", "DISK"], rows);
  return EXIT.ok;
}

function toMib(bytes: number): string {
  return String(Math.round(bytes / 2 ** 20));
}
