import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findMcpClient } from "../../src/cli/mcp-clients.js";
import { ABX, runAbx } from "../support/run-abx.js";

describe("abx mcp install", () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), "abx-mcp-"));
  });
  afterEach(() => rm(home, { recursive: true }));
  const install = (...args: string[]) => runAbx(["mcp", "install", ...args], { env: { HOME: home }, cwd: home });
  const ENTRY = { command: process.execPath, args: [ABX, "mcp"] };

  it("changes nothing unless it is told to, and shows what it would write", async () => {
    const run = await install("cursor");
    expect(run.status).toBe(0);
    expect(JSON.parse(run.stdout)).toEqual({ mcpServers: { sandbox: ENTRY } });
    expect(run.stderr).toContain(path.join(home, ".cursor", "mcp.json"));
    await expect(stat(path.join(home, ".cursor"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it.each([
    ["claude-desktop", ".config/Claude/claude_desktop_config.json", { mcpServers: { sandbox: ENTRY } }],
    ["claude-code", ".mcp.json", { mcpServers: { sandbox: { type: "stdio", ...ENTRY } } }],
    ["cursor", ".cursor/mcp.json", { mcpServers: { sandbox: ENTRY } }],
    ["vscode", ".vscode/mcp.json", { servers: { sandbox: { type: "stdio", ...ENTRY } } }],
    ["windsurf", ".codeium/windsurf/mcp_config.json", { mcpServers: { sandbox: ENTRY } }],
    ["gemini", ".gemini/settings.json", { mcpServers: { sandbox: ENTRY } }],
  ])("writes a valid entry for %s, which holds no key", async (client, file, content) => {
    expect(await install(client, "--write")).toMatchObject({ status: 0 });
    expect(JSON.parse(await readFile(path.join(home, file), "utf8"))).toEqual(content);
    expect((await stat(path.join(home, file))).mode & 0o777).toBe(0o600);
  });

  it("keeps what else is in the file, and its mode, and leaves a file alone that it does not understand", async () => {
    const file = path.join(home, ".mcp.json");
    await writeFile(file, JSON.stringify({ other: 1, mcpServers: { mine: { command: "x" } } }), { mode: 0o640 });
    const run = await install("claude-code", "--write", "--name", "box", "--json");
    expect(JSON.parse(run.stdout)).toMatchObject({ file, isWritten: true });
    const written = JSON.parse(await readFile(file, "utf8"));
    expect(written).toEqual({ other: 1, mcpServers: { mine: { command: "x" }, box: { type: "stdio", ...ENTRY } } });
    expect((await stat(file)).mode & 0o777).toBe(0o640);

    await mkdir(path.join(home, ".vscode"));
    const commented = '{ // mine\n "servers": {} }';
    await writeFile(path.join(home, ".vscode", "mcp.json"), commented);
    const refused = await install("vscode", "--write");
    expect(refused).toMatchObject({ status: 1, stdout: "" });
    expect(refused.stderr).toContain("by hand");
    expect(await readFile(path.join(home, ".vscode", "mcp.json"), "utf8")).toBe(commented);
    expect(await install("nonsense")).toMatchObject({ status: 2, stderr: expect.stringContaining("claude-desktop") });
  });

  it("knows the places of other systems", () => {
    const places = { homeDir: "/h", projectDir: "/p", env: {} };
    expect(findMcpClient("claude-desktop", { ...places, platform: "darwin" }).file).toBe(
      "/h/Library/Application Support/Claude/claude_desktop_config.json",
    );
    expect(findMcpClient("claude-desktop", { ...places, platform: "win32", env: { APPDATA: "/a" } }).file).toBe(
      "/a/Claude/claude_desktop_config.json",
    );
  });
});
