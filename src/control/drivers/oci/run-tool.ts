import { spawn } from "node:child_process";

/** How a program of the machine ended. */
export interface ToolResult {
  readonly code: number | null;
  /** The beginning of what it wrote to standard error, in English. */
  readonly complaint: string;
}

const COMPLAINT_LENGTH = 1_000;

/** Run a program of the machine and wait for its end; what it prints is dropped. Rejects when it cannot be started. */
export async function runTool(command: string, args: readonly string[]): Promise<ToolResult> {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, LC_ALL: "C" } });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (complaint.length < COMPLAINT_LENGTH) complaint += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, complaint };
}
