import { InvalidArgumentError, Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatTable, writeJson, writeOut } from "../output.js";

export interface LogsCommandOptions {
  readonly network?: boolean;
  readonly limit?: number;
  readonly json?: boolean;
}

/** `abx logs --network`: what a sandbox tried to reach, and why it was let through or not. */
export async function runLogsCommand(sandboxId: string, options: LogsCommandOptions): Promise<ExitCode> {
  if (options.network !== true) throw new InvalidArgumentError("say which log: --network");
  const entries = await Sandbox.getNetworkLog(sandboxId, { limit: options.limit });
  if (options.json) {
    await writeJson(entries.map(({ at, ...entry }) => ({ at: at.toISOString(), ...entry })));
    return EXIT.ok;
  }
  const rows = entries.map((entry) => [
    entry.at.toISOString(),
    entry.protocol,
    `${entry.host}:${entry.port}`,
    entry.decision,
    String(entry.status ?? "-"),
    `${entry.bytesSent}/${entry.bytesReceived}`,
    entry.reason,
  ]);
  await writeOut(formatTable(["AT", "PROTOCOL", "DESTINATION", "DECISION", "STATUS", "SENT/RECEIVED", "REASON"], rows));
  return EXIT.ok;
}
