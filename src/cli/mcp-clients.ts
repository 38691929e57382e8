import { homedir } from "node:os";
import path from "node:path";
import { InvalidArgumentError } from "../errors/error-classes.js";

/** Where a client of the Model Context Protocol keeps its servers. */
export interface McpClient {
  /** Absolute path of its configuration, a JSON file. */
  readonly file: string;
  /** Member of the file that holds servers by name. */
  readonly member: "mcpServers" | "servers";
  /** What the client wants beside command and arguments. */
  readonly more: Readonly<Record<string, string>>;
}

/** What the places depend on. */
export interface McpClientPlaces {
  readonly platform: NodeJS.Platform;
  readonly homeDir: string;
  /** Directory of the project, for clients whose configuration belongs to one. */
  readonly projectDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const CLIENTS: Readonly<Record<string, (places: McpClientPlaces) => McpClient>> = {
  "claude-desktop": (places) => toClient(path.join(appDataDir(places), "Claude", "claude_desktop_config.json")),
  "claude-code": ({ projectDir }) => toClient(path.join(projectDir, ".mcp.json"), "mcpServers", { type: "stdio" }),
  cursor: ({ homeDir }) => toClient(path.join(homeDir, ".cursor", "mcp.json")),
  vscode: ({ projectDir }) => toClient(path.join(projectDir, ".vscode", "mcp.json"), "servers", { type: "stdio" }),
  windsurf: ({ homeDir }) => toClient(path.join(homeDir, ".codeium", "windsurf", "mcp_config.json")),
  gemini: ({ homeDir }) => toClient(path.join(homeDir, ".gemini", "settings.json")),
};

/** @throws {@link InvalidArgumentError} the client is unknown; the message names those that are known. */
export function findMcpClient(name: string, places: McpClientPlaces): McpClient {
  const find = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (find !== undefined) return find(places);
  throw new InvalidArgumentError(`there is no client ${JSON.stringify(name)}; there are ${Object.keys(CLIENTS).join(", ")}`);
}

export function thisMachine(): McpClientPlaces {
  return { platform: process.platform, homeDir: homedir(), projectDir: process.cwd(), env: process.env };
}

function toClient(file: string, member: McpClient["member"] = "mcpServers", more: McpClient["more"] = {}): McpClient {
  return { file, member, more };
}

function appDataDir({ platform, homeDir, env }: McpClientPlaces): string {
  if (platform === "darwin") return path.join(homeDir, "Library", "Application Support");
  if (platform === "win32") return env.APPDATA ?? path.join(homeDir, "AppData", "Roaming");
  return env.XDG_CONFIG_HOME || path.join(homeDir, ".config");
}
