import { Sandbox, type SandboxEvent } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeOut } from "../output.js";

/** `abx events`: for programs, so one JSON object per line, until the sandbox ends or nobody reads any more. */
export async function runEventsCommand(
  sandboxId: string | undefined,
  options: { readonly after?: string },
  outputClosed: AbortSignal,
): Promise<ExitCode> {
  const { after } = options;
  const events =
    sandboxId === undefined ? Sandbox.events({ after, signal: outputClosed }) : await ofSandbox(sandboxId, after, outputClosed);
  try {
    for await (const { timestamp, ...event } of events) {
      await writeOut(`${JSON.stringify({ timestamp: timestamp.toISOString(), ...event })}\n`);
    }
  } catch (error) {
    if (!outputClosed.aborted) throw error;
  }
  return EXIT.ok;
}

/** Connecting would wake a paused sandbox, so the events of all are filtered. */
async function* ofSandbox(
  sandboxId: string,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<SandboxEvent, void, undefined> {
  await Sandbox.getInfo(sandboxId);
  for await (const event of Sandbox.events({ after, signal })) {
    if (event.sandboxId !== sandboxId) continue;
    yield event;
    if (["killed", "expired", "died"].includes(event.type)) return;
  }
}
