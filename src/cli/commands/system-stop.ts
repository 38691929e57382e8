import { stopPlatform } from "../../control/setup/stop.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson } from "../output.js";

export interface SystemStopOptions {
  readonly json?: boolean;
}

/** `abx system stop`: the platform of this machine, whatever server the settings name. */
export async function runSystemStopCommand({ json }: SystemStopOptions, notices: Notices): Promise<ExitCode> {
  const { pid, sandboxCount } = await stopPlatform();
  if (json) {
    await writeJson({ pid: pid ?? null, sandboxes: sandboxCount });
    return EXIT.ok;
  }
  const what = pid === undefined ? "no platform of this machine runs in this run directory" : `the platform (pid ${pid}) has ended`;
  const noun = sandboxCount === 1 ? "sandbox goes" : "sandboxes go";
  const rest = sandboxCount === 0 ? "" : `; ${sandboxCount} ${noun} on without it, as they are, and the next platform finds them again`;
  await notices.tell(`abx: ${what}${rest}`);
  return EXIT.ok;
}
