import { createInterface } from "node:readline";
import { InvalidArgumentError, NotFoundError } from "../../index.js";
import { configFilePath, parseConfigFile, withSetting } from "../../shared/config-file-node.js";
import { changeFile, readTextFile } from "../change-file.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut, writeTable } from "../output.js";

const NAMES = ["api_key", "domain", "region", "api_url", "sandbox_url", "volume_url", "platform", "proxy", "encoding"];
/** Settings with a credential in them: the key, and the password that a proxy may need. */
const HIDDEN = ["api_key", "proxy"];

/** `abx config list`. */
export async function runConfigList(options: { readonly json?: boolean }, notices: Notices): Promise<ExitCode> {
  const file = configFilePath(process.env);
  const settings = Object.entries(parseConfigFile(await readTextFile(file))).map(([name, value]): [string, string] => [
    name,
    HIDDEN.includes(name) ? "(set)" : value,
  ]);
  if (options.json) {
    await writeJson({ file, settings: Object.fromEntries(settings) });
    return EXIT.ok;
  }
  await notices.tell(`abx: settings of ${file}`);
  await writeTable(["NAME", "VALUE"], settings);
  return EXIT.ok;
}

/** `abx config get`: also what the list hides. */
export async function runConfigGet(name: string): Promise<ExitCode> {
  const file = configFilePath(process.env);
  const value = parseConfigFile(await readTextFile(file))[checkName(name)];
  if (value === undefined) throw new NotFoundError(`${name} is not set in ${file}; \`abx config set ${name}\` sets it`);
  await writeOut(`${value}\n`);
  return EXIT.ok;
}

/** `abx config set`. */
export async function runConfigSet(name: string, given: string | undefined): Promise<ExitCode> {
  checkName(name);
  const value = given ?? (await readLine());
  if (value === "" || /[\n\r]/.test(value)) throw new InvalidArgumentError(`${name} must be one line that is not empty`);
  await change(name, value);
  return EXIT.ok;
}

/** `abx config delete`: what is not there is fine. */
export async function runConfigDelete(name: string): Promise<ExitCode> {
  await change(checkName(name), undefined);
  return EXIT.ok;
}

/** For this user alone: the file may hold a key. */
async function change(name: string, value: string | undefined): Promise<void> {
  await changeFile(configFilePath(process.env), (text) => (value === undefined && text === "" ? "" : withSetting(text, name, value)), {
    mode: 0o600,
    directoryMode: 0o700,
  });
}

async function readLine(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line.trim();
  return "";
}

function checkName(name: string): string {
  if (NAMES.includes(name)) return name;
  throw new InvalidArgumentError(`there is no setting ${JSON.stringify(name)}; there are ${NAMES.join(", ")}`);
}
