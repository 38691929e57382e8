import path from "node:path";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { changeFile, readTextFile } from "../change-file.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { findMcpClient, type McpClient, thisMachine } from "../mcp-clients.js";
import { writeErr, writeJson, writeOut } from "../output.js";

export interface McpInstallOptions {
  readonly name: string;
  readonly write?: boolean;
  readonly json?: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** `abx mcp install`: the entry starts this very installation, and holds no key: that comes from the environment or the config file. */
export async function runMcpInstallCommand(clientName: string, options: McpInstallOptions): Promise<ExitCode> {
  const client = findMcpClient(clientName, thisMachine());
  const change = (text: string): string => {
    return `${JSON.stringify(withEntry(parseConfig(text, client.file), client, options.name), undefined, 2)}\n`;
  };
  if (options.write) await changeFile(client.file, change);
  const text = change(await readTextFile(client.file));
  if (options.json) {
    await writeJson({ file: client.file, isWritten: options.write === true, content: JSON.parse(text) });
  } else {
    await writeErr(options.write ? `wrote ${client.file}\n` : `nothing is changed; with --write ${client.file} becomes:\n`);
    await writeOut(text);
  }
  return EXIT.ok;
}

function withEntry(config: Json, { file, member, more }: McpClient, name: string): Json {
  const servers = config[member] ?? {};
  if (!isObject(servers)) throw new FailedPreconditionError(`${member} in ${file} is no object; repair the file first`);
  const entry = { ...more, command: process.execPath, args: [path.resolve(process.argv[1] ?? ""), "mcp"] };
  return { ...config, [member]: { ...servers, [name]: entry } };
}

function parseConfig(text: string, file: string): Json {
  if (text.trim() === "") return {};
  try {
    const config: unknown = JSON.parse(text);
    if (isObject(config)) return config;
  } catch {
    // Told below; some clients allow comments, which a rewrite would lose.
  }
  throw new FailedPreconditionError(`${file} is not a plain JSON object, so it is left alone; add the entry by hand`);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
