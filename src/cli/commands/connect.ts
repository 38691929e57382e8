import { Sandbox } from "../../index.js";
import { writeErr } from "../output.js";
import { runInTerminal } from "../terminal-session.js";

export interface ConnectCommandOptions {
  readonly cwd?: string;
  readonly user?: string;
  readonly json?: boolean;
}

/** `abx connect`: a shell in a terminal of the sandbox; it ends with this process, and survives broken connections until then. */
export async function runConnectCommand(sandboxId: string, options: ConnectCommandOptions, outputClosed: AbortSignal): Promise<number> {
  const { status, signal } = await runInTerminal(await Sandbox.connect(sandboxId), options, outputClosed);
  // Stdout belongs to the terminal.
  if (options.json) await writeErr(`${JSON.stringify({ sandboxId, exitStatus: status, signal: signal ?? null })}\n`);
  return status;
}
