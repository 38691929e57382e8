import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeErr, writeJson, writeOut } from "../output.js";
import { toPrintableLines } from "../printable.js";

export interface ForkCommandOptions {
  readonly count?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

/** `abx fork`: copies that could not be made are told on stderr. */
export async function runForkCommand(sandboxId: string, options: ForkCommandOptions): Promise<ExitCode> {
  const forks = await Sandbox.fork(sandboxId, {
    count: options.count,
    timeoutMs: options.timeout === undefined ? undefined : options.timeout * 1000,
  });
  const ids = forks.flatMap((copy) => (copy instanceof Sandbox ? [copy.sandboxId] : []));
  const errors = forks.flatMap((copy) => (copy instanceof Sandbox ? [] : [copy.message]));
  if (options.json) {
    await writeJson({ sandboxIds: ids, errors, memory: forks.memory });
  } else {
    await writeOut(ids.map((id) => `${id}\n`).join(""));
    await writeErr(errors.map((message) => `abx: ${toPrintableLines(message)}\n`).join(""));
  }
  return errors.length === 0 ? EXIT.ok : EXIT.general;
}
