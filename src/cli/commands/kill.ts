import { InvalidArgumentError, Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { listAll } from "./list.js";

/** `abx kill`: goes on after an unknown id and says so at the end. */
export async function runKillCommand(
  sandboxIds: readonly string[],
  options: { readonly all?: boolean; readonly json?: boolean },
): Promise<ExitCode> {
  if (options.all === true ? sandboxIds.length > 0 : sandboxIds.length === 0) {
    throw new InvalidArgumentError("give the ids of the sandboxes to kill, or --all alone");
  }
  const ids = options.all ? (await listAll({})).map((info) => info.sandboxId) : sandboxIds;
  const killed: string[] = [];
  const notFound: string[] = [];
  for (const id of ids) ((await Sandbox.kill(id)) ? killed : notFound).push(id);

  if (options.json) await writeJson({ killed, notFound });
  else await writeOut(killed.map((id) => `${id}\n`).join(""));
  // Under --all another caller may have been quicker, which is as good.
  if (notFound.length === 0 || options.all) return EXIT.ok;
  if (!options.json) await writeErr(`abx: no sandbox with the id ${notFound.join(", ")}\n`);
  return EXIT.notFound;
}
