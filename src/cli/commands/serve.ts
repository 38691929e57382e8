import { type PlatformOptions, startPlatform } from "../../control/main.js";
import { resolvePaths } from "../../control/paths.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeJson, writeOut } from "../output.js";

export interface ServeCommandOptions {
  readonly port?: number;
  readonly host: string;
  readonly onDemand?: boolean;
  readonly runtime?: string;
  readonly diskMb?: number;
  readonly maxSandboxes?: number;
  readonly logLevel?: PlatformOptions["logLevel"];
  readonly logFormat?: PlatformOptions["logFormat"];
  readonly json?: boolean;
}

/** `abx serve`: resolves when the platform has stopped. */
export async function runServeCommand({ onDemand, json, ...options }: ServeCommandOptions): Promise<ExitCode> {
  const platform = await startPlatform({ ...options, idleTimeoutMs: onDemand ? undefined : 0 });
  // The API key stays in the private file: what is printed may end in a log.
  const { url, pid, version } = platform.info;
  const { platformFile } = resolvePaths();
  if (json) await writeJson({ url, pid, version, platformFile });
  else await writeOut(`the local platform listens at ${url}; its API key is in ${platformFile}\n`);
  await platform.closed;
  return EXIT.ok;
}
