import { type IsolationLevel, Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeJson, writeOut } from "../output.js";
import { toSandboxJson } from "../sandbox-view.js";

export interface CreateCommandOptions {
  readonly timeout?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly volume?: Readonly<Record<string, string>>;
  readonly minimumIsolation?: IsolationLevel;
  readonly json?: boolean;
}

/** `abx create`: the sandbox outlives this process and ends at its timeout. */
export async function runCreateCommand(template: string, options: CreateCommandOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.create(template, {
    timeoutMs: options.timeout === undefined ? undefined : options.timeout * 1000,
    envs: options.env,
    metadata: options.metadata,
    volumeMounts: options.volume,
    minimumIsolation: options.minimumIsolation,
  });
  if (options.json) await writeJson(toSandboxJson(await sandbox.getInfo()));
  else await writeOut(`${sandbox.sandboxId}\n`);
  return EXIT.ok;
}
