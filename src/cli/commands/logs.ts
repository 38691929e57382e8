import { InvalidArgumentError, Sandbox, type SandboxLogLevel } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { followLog, formatLogEntry, toLogJson } from "../log-follower.js";
import { writeJson, writeOut, writeTable } from "../output.js";

export interface LogsCommandOptions {
  readonly network?: boolean;
  readonly level?: string;
  readonly limit?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

type LogQuery = Omit<LogsCommandOptions, "level"> & { readonly level: SandboxLogLevel | undefined };

const LEVELS: readonly SandboxLogLevel[] = ["debug", "info", "warn", "error"];

/** `abx logs`: what the platform wrote down about a sandbox, newest last; with `--network` what the sandbox tried to reach. */
export async function runLogsCommand(sandboxId: string, options: LogsCommandOptions, outputClosed: AbortSignal): Promise<number> {
  const level = LEVELS.find((known) => known === options.level);
  if (options.level !== undefined && level === undefined) {
    throw new InvalidArgumentError(`--level must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(options.level)}`);
  }
  if (options.network) return showNetworkLog(sandboxId, options);
  if (options.follow) return followLog(sandboxId, { ...options, level }, outputClosed);
  return showLog(sandboxId, { ...options, level });
}

async function showLog(sandboxId: string, { level, limit, json }: LogQuery): Promise<ExitCode> {
  const entries = [...(await Sandbox.getLogs(sandboxId, { level, limit, direction: "backward" }))].reverse();
  if (json) await writeJson(entries.map(toLogJson));
  else await writeOut(entries.map(formatLogEntry).join(""));
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
  await writeTable(["AT", "PROTOCOL", "DESTINATION", "DECISION", "STATUS", "SENT/RECEIVED", "REASON"], rows);
  return EXIT.ok;
}
