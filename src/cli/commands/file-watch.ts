import { Sandbox } from "../../index.js";
import { EXIT } from "../exit-code.js";
import { exitStatusOf } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { writeOut } from "../output.js";
import type { ProgramContext } from "../program.js";

/** `abx files watch`: until it is interrupted, or the sandbox ends, which is an error of its own. */
export async function runFilesWatch(
  sandboxId: string,
  path: string,
  options: { readonly recursive?: boolean; readonly user?: string },
  { outputClosed, notices }: Pick<ProgramContext, "outputClosed" | "notices">,
): Promise<number> {
  const sandbox = await Sandbox.connect(sandboxId);
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  const anyEnding = AbortSignal.any([ending.signal, outputClosed]);
  await new Promise<void>((resolve, reject) => {
    anyEnding.addEventListener("abort", () => resolve());
    if (anyEnding.aborted) resolve();
    sandbox.files
      .watchDir(path, ({ name, type }) => writeOut(`${JSON.stringify({ name, type })}\n`), {
        recursive: options.recursive,
        user: options.user,
        timeoutMs: 0,
        onExit: (error) => (error === undefined ? resolve() : reject(error)),
      })
      .then(() => notices.tell(`abx: watching ${path}; Ctrl-C ends it`))
      .catch(reject);
  });
  return signals.received === undefined ? EXIT.ok : exitStatusOf(0, signals.received);
}
