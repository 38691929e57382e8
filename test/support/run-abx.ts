import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PlatformContext } from "./platform-context.js";

export const ABX = fileURLToPath(new URL("../../dist/cli/abx.js", import.meta.url));

export interface AbxRun {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run the built `abx` to its end. `env` is all it gets beside PATH; without `input` its stdin is empty. */
export async function runAbx(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly input?: string; readonly cwd?: string } = {},
): Promise<AbxRun> {
  const child = spawn(process.execPath, [ABX, ...args], {
    env: { PATH: process.env.PATH, ...options.env },
    cwd: options.cwd,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  // The program may end without reading its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => resolve({ status, signal, ...output }));
  });
}

/** Variables that point `abx` to a platform. */
export function platformEnv(platform: PlatformContext & { isAvailable: true }): Record<string, string> {
  return {
    AGENT_SANDBOX_API_URL: platform.apiUrl,
    AGENT_SANDBOX_SANDBOX_URL: platform.sandboxUrl,
    AGENT_SANDBOX_API_KEY: platform.apiKey,
  };
}
