import { runAbx } from "./run-abx.js";

/** How long a hook may take that prepares the template, on a machine that does much else. */
export const CODE_TEMPLATE_TIMEOUT_MS = 900_000;

/** Have the template `code-interpreter-v1`: it is built when it is missing or not current, which takes about a minute once. */
export async function prepareCodeTemplate(): Promise<void> {
  const { status, stderr } = await runAbx(["setup", "--all"], { env: process.env as Record<string, string> });
  if (status !== 0) throw new Error(`abx setup --all ended with ${status}:\n${stderr.slice(-2_000)}`);
}
