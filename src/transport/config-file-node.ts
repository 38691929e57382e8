import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ConfigFile } from "./config.js";

/** `config.toml` of the user: lines of the form `api_key = "…"`; sections, arrays and comments are passed over. */
export function readConfigFileFrom(environment: Readonly<Record<string, string | undefined>>): ConfigFile {
  const home = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), ".config");
  let text: string;
  try {
    text = readFileSync(join(home, "agent-sandbox", "config.toml"), "utf8");
  } catch {
    // Absent or unreadable is the normal case; a setting that is then missing is reported where it is needed.
    return {};
  }
  return parseConfigFile(text);
}

/** Parse the top-level string settings of a TOML text. */
export function parseConfigFile(text: string): ConfigFile {
  const settings: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (/^\s*\[/.test(line)) break;
    const match = /^\s*([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s#"'[{]+))\s*(?:#.*)?$/.exec(line);
    if (match === null) continue;
    const [, name, basic, literal, bare] = match;
    const value = basic === undefined ? (literal ?? bare) : basic.replace(/\\(["\\])/g, "$1");
    if (name !== undefined && value !== undefined) settings[name] = value;
  }
  return settings;
}
