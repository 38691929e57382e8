import { InvalidArgumentError, Sandbox, type SandboxLogLevel } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { followLog, formatLogEntry, toLogJson } from "../log-follower.js";
import { followNetworkLog, showNetworkLog } from "../network-log.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut } from "../output.js";

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
export async function runLogsCommand(
  sandboxId: string,
  options: LogsCommandOptions,
  outputClosed: AbortSignal,
  notices: Notices,
): Promise<number> {
  const level = LEVELS.find((known) => known === options.level);
  if (options.level !== undefined && level === undefined) {
    throw new InvalidArgumentError(`--level must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(options.level)}`);
  }
  if (options.network) {
    if (level !== undefined) throw new InvalidArgumentError("--level does not go with --network, whose entries have none");
    if (options.follow) return followNetworkLog(sandboxId, options, outputClosed, notices);
    await showNetworkLog(sandboxId, options);
    return EXIT.ok;
  }
  if (options.follow) return followLog(sandboxId, { ...options, level }, outputClosed);
  return showLog(sandboxId, { ...options, level });
}

async function showLog(sandboxId: string, { level, limit, json }: LogQuery): Promise<ExitCode> {
  const entries = [...(await Sandbox.getLogs(sandboxId, { level, limit, direction: "backward" }))].reverse();
  if (json) await writeJson(entries.map(toLogJson));
  else await writeOut(entries.map(formatLogEntry).join(""));
  return EXIT.ok;
}
