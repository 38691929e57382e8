import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect, it } from "vitest";
import { mapConcurrently } from "../../src/declarative/map-concurrently.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { PNG } from "../support/pixel.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv } from "../support/run-abx.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("abx mcp over stdio", (platform) => {
  const connection = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  const env = { PATH: process.env.PATH ?? "", ...platformEnv(platform) };
  const isGone = (sandboxId: string) =>
    Sandbox.getInfo(sandboxId, connection).then(
      () => false,
      () => true,
    );

  async function connect() {
    const transport = new StdioClientTransport({ command: process.execPath, args: [ABX, "mcp"], env, stderr: "pipe" });
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
    return client;
  }

  /** A client of JSON lines, for what the official one does not do. */
  function openRaw(more: Record<string, string> = {}) {
    const child = spawn(process.execPath, [ABX, "mcp"], { env: { ...env, ...more } });
    const lines: string[] = [];
    const answers = new Map<unknown, (message: { result?: { content: { text: string }[] }; error?: unknown }) => void>();
    const onNotification: { handle?: (message: { method: string }) => void } = {};
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      const message = JSON.parse(line);
      if (message.method !== undefined) onNotification.handle?.(message);
      else answers.get(message.id)?.(message);
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => undefined);
    const send = (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const ask = (id: unknown, method: string, params: object = {}) => {
      const answer = new Promise<{ result?: { content: { text: string }[] }; error?: unknown }>((resolve) => answers.set(id, resolve));
      send({ id, method, params });
      return answer;
    };
    const initialize = async () => {
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
      await ask("init", "initialize", params);
      send({ method: "notifications/initialized" });
    };
    return { child, lines, ask, send, initialize, onNotification, stderr: () => stderr };
  }

  it("serves tools, images, resources and progress to the official client, and kills the sandbox at the end", async () => {
    const client = await connect();
    expect(client.getServerVersion()).toMatchObject({ name: "agent-sandbox" });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(11);
    expect((await client.listResources()).resources).toEqual([]);

    const id = (await client.callTool({ name: "run_code", arguments: { code: "import os; print(os.environ['E2B_SANDBOX_ID'])" } })) as {
      content: { text: string }[];
    };
    const sandboxId = /stdout:\n(\S+)/.exec(id.content[0]?.text ?? "")?.[1] ?? "";
    await client.callTool({ name: "run_command", arguments: { command: `echo ${PNG} | base64 -d > 'a dot.png'; echo text > a.txt` } });
    const image = await client.callTool({ name: "read_file", arguments: { path: "a dot.png" } });
    expect(image.content).toEqual([{ type: "image", data: PNG, mimeType: "image/png" }]);

    await client.callTool({ name: "write_file", arguments: { path: "100%?a#b.txt", content: "odd name" } });
    const odd = (await client.listResources()).resources.find(({ name }) => name === "100%?a#b.txt")?.uri ?? "";
    expect(new URL(odd).pathname).toBe("/home/user/100%25%3Fa%23b.txt");
    expect((await client.readResource({ uri: odd })).contents).toMatchObject([{ text: "odd name" }]);
    await expect(client.readResource({ uri: "sandbox://default/%zz" })).rejects.toMatchObject({ code: -32_602 });

    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name)).toEqual(expect.arrayContaining(["a dot.png", "a.txt"]));
    const uri = resources.find(({ name }) => name === "a dot.png")?.uri ?? "";
    expect(uri).toBe(`sandbox://${sandboxId}/home/user/a%20dot.png`);
    expect((await client.readResource({ uri })).contents).toEqual([{ uri, mimeType: "application/octet-stream", blob: PNG }]);
    const text = await client.readResource({ uri: "sandbox://default/home/user/a.txt" });
    expect(text.contents).toMatchObject([{ mimeType: "text/plain", text: "text\n" }]);
    await expect(client.readResource({ uri: "sandbox://default/missing" })).rejects.toMatchObject({ code: -32_002 });
    await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toMatchObject({ code: -32_602 });

    const progress: (string | undefined)[] = [];
    const command = "for n in 1 2 3 4; do echo step $n; sleep 0.6; done";
    const onprogress = ({ message }: { message?: string | undefined }) => void progress.push(message);
    await client.callTool({ name: "run_command", arguments: { command } }, undefined, { onprogress });
    expect(progress.length).toBeGreaterThanOrEqual(1);
    expect(progress.join()).toMatch(/step \d/);

    expect(await client.callTool({ name: "run_command", arguments: { command: "exit 3" } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: "read_file", arguments: {} })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: "nonsense" })).rejects.toMatchObject({ code: -32_602 });
    await client.close();
    await expect.poll(() => isGone(sandboxId), { timeout: 15_000 }).toBe(true);
  });

  it("MCP-01: every line of stdout is a message, whatever is printed beside it", async () => {
    const { child, lines, ask, initialize, stderr } = openRaw({
      AGENT_SANDBOX_DEBUG: "1",
      NODE_DEBUG: "net",
      NODE_PENDING_DEPRECATION: "1",
    });
    await initialize();
    await ask(1, "tools/call", { name: "run_command", arguments: { command: "echo '{\"jsonrpc\":'; echo noise >&2" } });
    await ask(2, "tools/call", { name: "read_file", arguments: { path: "/missing" } });
    child.stdin.write("this is no message\n");
    await ask(3, "ping");
    child.stdin.end();
    expect((await once(child, "close"))[0]).toBe(0);
    expect(lines.length).toBeGreaterThanOrEqual(4);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
    expect(stderr()).not.toContain("    at ");
  });

  it("MCP-01: without a server to talk to, stdout stays clean and the call says what is wrong", async () => {
    const { child, lines, ask, initialize } = openRaw({ AGENT_SANDBOX_API_URL: "http://127.0.0.1:9", AGENT_SANDBOX_SANDBOX_URL: "" });
    await initialize();
    const answer = await ask(1, "tools/call", { name: "list_files" });
    expect(answer.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("list_files failed") }] });
    child.stdin.end();
    expect((await once(child, "close"))[0]).toBe(0);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  });

  it("MCP-02: a client that vanishes, at once or during a call, is a quiet end that leaves no sandbox", async () => {
    await mapConcurrently(Array(50), 5, undefined, async () => {
      const { child, send, stderr } = openRaw();
      send({
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
      });
      child.stdout.destroy();
      child.stdin.end();
      expect((await once(child, "close"))[0], stderr()).toBe(0);
      expect(stderr()).not.toContain("    at ");
    });
    const { child, ask, initialize, onNotification, stderr } = openRaw();
    await initialize();
    const started = new Promise<string>((resolve) => {
      onNotification.handle = (message) => {
        const text = (message as { params?: { message?: string } }).params?.message;
        if (text !== undefined) resolve(text);
      };
    });
    const params = { name: "run_command", arguments: { command: "echo $E2B_SANDBOX_ID; sleep 600" }, _meta: { progressToken: 1 } };
    void ask(2, "tools/call", params);
    const sandboxId = await started;
    child.stdin.destroy();
    child.stdout.destroy();
    expect((await once(child, "close"))[0], stderr()).toBe(0);
    expect(await isGone(sandboxId)).toBe(true);
  });

  it.each([0, 7, "text"])("MCP-04: cancelling the request %j stops the command, and it gets no answer", async (id) => {
    const { child, lines, ask, send, initialize, onNotification } = openRaw();
    await initialize();
    const mark = `4${Math.floor(Math.random() * 1e6)}`;
    const started = new Promise<void>((resolve) => {
      onNotification.handle = () => resolve();
    });
    const params = { name: "run_command", arguments: { command: `echo started; sleep ${mark}` }, _meta: { progressToken: "p" } };
    void ask(id, "tools/call", params);
    await started;
    send({ method: "notifications/cancelled", params: { requestId: id, reason: "enough" } });
    send({ method: "notifications/cancelled", params: { requestId: "unknown" } });
    const count = async (n: number): Promise<string> => {
      const arguments_ = { command: `pgrep -fc '[s]leep ${mark}' || true` };
      const answer = await ask(`count ${n}`, "tools/call", { name: "run_command", arguments: arguments_ });
      return answer.result?.content[0]?.text ?? "";
    };
    let n = 0;
    await expect.poll(() => count(n++), POLL).toContain("stdout:\n0");
    expect(lines.map((line) => JSON.parse(line)).filter((message) => message.id === id)).toEqual([]);
    child.stdin.end();
    expect((await once(child, "close"))[0]).toBe(0);
  });

  it("MCP-05: arguments may be left out; null and other things are refused and the server goes on", async () => {
    const { child, ask, initialize } = openRaw();
    await initialize();
    expect((await ask(1, "tools/call", { name: "list_files" })).result).toMatchObject({ isError: false });
    expect((await ask(2, "tools/call", { name: "list_files", arguments: {} })).result).toMatchObject({ isError: false });
    for (const [id, args] of [null, "text", 5, []].entries()) {
      expect(await ask(`bad ${id}`, "tools/call", { name: "list_files", arguments: args })).toHaveProperty("error");
    }
    const huge = await ask(3, "tools/call", { name: "read_file", arguments: { path: "x".repeat(5_000_000) } });
    expect(huge.result).toMatchObject({ isError: true });
    expect(await ask(4, "ping")).toMatchObject({ result: {} });
    child.stdin.end();
    expect((await once(child, "close"))[0]).toBe(0);
  });

  it("a signal to end kills the sandboxes first", async () => {
    const { child, ask, initialize } = openRaw();
    await initialize();
    const answer = await ask(1, "tools/call", { name: "run_command", arguments: { command: "echo $E2B_SANDBOX_ID" } });
    const sandboxId = /stdout:\n(\S+)/.exec(answer.result?.content[0]?.text ?? "")?.[1] ?? "";
    child.kill("SIGTERM");
    expect((await once(child, "close"))[0]).toBe(0);
    expect(await isGone(sandboxId)).toBe(true);
  });
});
