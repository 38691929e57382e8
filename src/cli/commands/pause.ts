import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut } from "../output.js";
import { toSandboxJson } from "../sandbox-view.js";

/** `abx pause`: pausing what is paused is no error. */
export async function runPauseCommand(
  sandboxId: string,
  options: { readonly memory?: boolean; readonly json?: boolean },
  notices: Notices,
): Promise<ExitCode> {
  const wasRunning = await Sandbox.pause(sandboxId, { keepMemory: options.memory });
  if (options.json) await writeJson({ sandboxId, wasRunning });
  else if (!wasRunning) await notices.tell(`abx: sandbox ${sandboxId} was paused already`);
  return EXIT.ok;
}

export interface ResumeCommandOptions {
  readonly timeout?: number;
  readonly reboot?: boolean;
  readonly json?: boolean;
}

/** `abx resume`: says so when the memory that was kept is lost. */
export async function runResumeCommand(sandboxId: string, options: ResumeCommandOptions, notices: Notices): Promise<ExitCode> {
  const before = await Sandbox.getInfo(sandboxId);
  const sandbox = await Sandbox.connect(sandboxId, {
    timeoutMs: options.timeout === undefined ? undefined : options.timeout * 1000,
    onResume: options.reboot ? "reboot" : undefined,
  });
  const info = await sandbox.getInfo();
  const isLost = before.memoryState === "lost" || (before.memoryState === "kept" && info.memoryState === "rebooted" && !options.reboot);
  if (isLost) await notices.tell(`abx: the memory of sandbox ${sandboxId} was lost; it was started anew from its files`);
  if (options.json) await writeJson({ ...toSandboxJson(info), memoryState: info.memoryState ?? null });
  else await writeOut(`${sandboxId}\n`);
  return EXIT.ok;
}
