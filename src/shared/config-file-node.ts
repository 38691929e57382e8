import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where the configuration file of the user is. */
export function configFilePath(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), ".config");
  return join(home, "agent-sandbox", "config.toml");
}

/** `config.toml` of the user: lines of the form `api_key = "…"`; sections, arrays and comments are passed over. */
export function readConfigFileFrom(environment: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  let text: string;
  try {
    text = readFileSync(configFilePath(environment), "utf8");
  } catch {
    // Absent or unreadable is the normal case; a setting that is then missing is reported where it is needed.
    return {};
  }
  return parseConfigFile(text);
}

/** Parse the top-level string settings of a TOML text. */
export function parseConfigFile(text: string): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const line of topLevelLines(text)) {
    const setting = parseSetting(line);
    if (setting !== undefined) settings[setting.name] = setting.value;
  }
  return settings;
}

/** The text with one top-level setting replaced, added, or, for `undefined`, left out; whatever else it has stays. */
export function withSetting(text: string, name: string, value: string | undefined): string {
  const top = topLevelLines(text);
  const rest = text.split("\n").slice(top.length);
  const kept = top.filter((line) => parseSetting(line)?.name !== name);
  while (kept.at(-1) === "") kept.pop();
  if (value !== undefined) kept.push(`${name} = "${value.replace(/["\\]/g, "\\$&")}"`);
  return [...kept, ...(rest.length > 0 ? ["", ...rest] : [""])].join("\n");
}

function topLevelLines(text: string): string[] {
  const lines = text.split("\n");
  const section = lines.findIndex((line) => /^\s*\[/.test(line));
  return section < 0 ? lines : lines.slice(0, section);
}

function parseSetting(line: string): { readonly name: string; readonly value: string } | undefined {
  const match = /^\s*([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s#"'[{]+))\s*(?:#.*)?$/.exec(line);
  if (match === null) return undefined;
  const [, name, basic, literal, bare] = match;
  const value = basic === undefined ? (literal ?? bare) : basic.replace(/\\(["\\])/g, "$1");
  return name === undefined || value === undefined ? undefined : { name, value };
}
