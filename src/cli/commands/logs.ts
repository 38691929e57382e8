import { InvalidArgumentError, Sandbox, type SandboxLogLevel } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatTable, writeJson, writeOut } from "../output.js";

export interface LogsCommandOptions {
  readonly network?: boolean;
  readonly level?: string;
  readonly limit?: number;
  readonly json?: boolean;
}

const LEVELS: readonly SandboxLogLevel[] = ["debug", "info", "warn", "error"];

/** `abx logs`: what the platform wrote down about a sandbox, newest last; with `--network` what the sandbox tried to reach. */
export async function runLogsCommand(sandboxId: string, options: LogsCommandOptions): Promise<ExitCode> {
  return options.network ? showNetworkLog(sandboxId, options) : showLog(sandboxId, options);
}

async function showLog(sandboxId: string, { level, limit, json }: LogsCommandOptions): Promise<ExitCode> {
  const wanted = LEVELS.find((known) => known === level);
  if (level !== undefined && wanted === undefined) {
    throw new InvalidArgumentError(`--level must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(level)}`);
  }
  const lines = [...(await Sandbox.getLogs(sandboxId, { level: wanted, limit, direction: "backward" }))].reverse();
  if (json) await writeJson(lines.map(({ timestamp, ...line }) => ({ timestamp: timestamp.toISOString(), ...line })));
  else await writeOut(lines.map(({ timestamp, level, message }) => `${timestamp.toISOString()} ${level.padEnd(5)} ${message}\n`).join(""));
  return EXIT.ok;
}

async function showNetworkLog(sandboxId: string, options: LogsCommandOptions): Promise<ExitCode> {
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
