import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";

/** What was taken from the `.env` of the working directory. */
export interface DotEnv {
  readonly file: string;
  /** Names of the variables whose value is the one of the file. */
  readonly names: ReadonlySet<string>;
}

const OURS = /^(AGENT_SANDBOX|E2B|SANDBOX|FCSANDBOX|ALIBABA_CLOUD|ALICLOUD|ACR)_/;

/** Take the variables of this product and of the clouds that it uses from `.env` in the working directory; what the environment has already wins. */
export function loadDotEnv(): DotEnv {
  const file = path.resolve(".env");
  const names = new Set<string>();
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return { file, names };
  }
  for (const [name, value] of Object.entries(parseEnv(text))) {
    if (!OURS.test(name) || process.env[name] !== undefined) continue;
    process.env[name] = value;
    names.add(name);
  }
  return { file, names };
}
