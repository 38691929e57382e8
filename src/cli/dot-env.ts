import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";

const OURS = /^(AGENT_SANDBOX|E2B|SANDBOX|FCSANDBOX|ALIBABA_CLOUD|ALICLOUD|ACR)_/;

/** Take the variables of this product and of the clouds that it uses from `.env` in the working directory; what the environment has already wins. */
export function loadDotEnv(): void {
  let text: string;
  try {
    text = readFileSync(".env", "utf8");
  } catch {
    return;
  }
  for (const [name, value] of Object.entries(parseEnv(text))) {
    if (OURS.test(name)) process.env[name] ??= value;
  }
}
