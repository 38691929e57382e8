import { runSetup } from "../../control/setup/setup.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut } from "../output.js";

/** `abx setup`: progress goes to stderr, the result to stdout. */
export async function runSetupCommand(
  options: { readonly all?: boolean; readonly runtime?: string; readonly json?: boolean },
  notices: Notices,
): Promise<ExitCode> {
  const { base, installed, isBaseNew, built, durationMs } = await runSetup({
    onProgress: (line) => void notices.tell(line),
    isForAll: options.all === true,
    withGvisor: options.runtime === "runsc",
  });
  if (options.json) {
    await writeJson({ installed, templateId: base.templateId, buildId: base.buildId, isBaseNew, built, durationMs });
  } else {
    const changes = [...installed.map((name) => `installed ${name}`), ...built.map((name) => `built the template ${name}`)];
    await writeOut(`this machine is ready for sandboxes${changes.length > 0 ? `: ${changes.join(", ")}` : ""}\n`);
  }
  return EXIT.ok;
}
