import { once } from "node:events";
import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { openNetworkSandboxSession } from "../../../src/agent/ai-sdk/network-session.js";
import { openSandboxSession } from "../../../src/agent/ai-sdk/open-sandbox-session.js";
import { Sandbox, type SandboxCreateOptions } from "../../../src/index.js";
import { describeOnPlatform } from "../../support/platform.js";

const ADDRESS = "127.0.0.5";
const POLL = { timeout: 15_000 };

describeOnPlatform("a sandbox as the session of a harness", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const open: Sandbox[] = [];
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((_, response) => response.end("reached")).listen(0, ADDRESS);
    await once(server, "listening");
    url = `http://${ADDRESS}:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((sandbox) => sandbox.kill()));
  });
  async function create(options: SandboxCreateOptions = {}): Promise<Sandbox> {
    const sandbox = await Sandbox.create({ ...connection, timeoutMs: 120_000, ...options });
    open.push(sandbox);
    return sandbox;
  }

  it("is a session with an id, a directory and ports, and its restricted view has none of that", async () => {
    const sandbox = await create();
    const session = await openNetworkSandboxSession(sandbox, { ports: [4001, 4002] });
    expect(session).toMatchObject({ id: sandbox.sandboxId, defaultWorkingDirectory: "/home/user", ports: [4001, 4002] });
    expect((await session.run({ command: "pwd" })).stdout).toBe("/home/user\n");
    const restricted = session.restricted();
    expect(Object.keys(restricted).sort()).toEqual(Object.keys(await openSandboxSession(sandbox)).sort());
    await session.writeTextFile({ path: "same.txt", content: "same" });
    expect(await restricted.readTextFile({ path: "same.txt" })).toBe("same");
  });

  it("leads to programs behind ports, over HTTP and WebSocket", async () => {
    const sandbox = await create();
    const session = await openNetworkSandboxSession(sandbox);
    const program =
      "const s = require('node:http').createServer((q, r) => r.end('page ' + q.url)); s.on('upgrade', (q, c) => { c.write('HTTP/1.1 101 S\\r\\nUpgrade: websocket\\r\\n" +
      "Connection: Upgrade\\r\\nSec-WebSocket-Accept: ' + require('node:crypto').createHash('sha1').update(q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11')" +
      ".digest('base64') + '\\r\\n\\r\\n'); c.write(Buffer.from([0x81, 2, 104, 105])); }); s.listen(4000, () => console.log('ready'))";
    const process = await session.spawn({ command: 'exec node -e "$PROGRAM"', env: { PROGRAM: program } });
    const reader = process.stdout.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("ready\n");

    const http = await session.getPortEndpoint({ port: 4000 });
    expect(await (await fetch(new URL("/a?b", http.url), { headers: http.headers ?? {} })).text()).toBe("page /a?b");
    const ws = await session.getPortEndpoint({ port: 4000, protocol: "ws" });
    expect(ws.url).toMatch(/^ws:/);
    const socket = new WebSocket(ws.url, { headers: ws.headers ?? {} });
    const [message] = await once(socket, "message");
    expect(String(message)).toBe("hi");
    socket.terminate();

    const named = new URL(await session.getPortUrl({ port: 4000, protocol: "http" }));
    expect(named.hostname).toBe(`4000-${sandbox.sandboxId}.localhost`);
    const [response] = await once(get({ host: "127.0.0.1", port: named.port, path: "/c", headers: { host: named.host } }), "response");
    response.setEncoding("utf8");
    expect((await response.toArray()).join("")).toBe("page /c");
    await expect(session.getPortEndpoint({ port: 4000, protocol: "https" })).rejects.toMatchObject({ reason: "failed_precondition" });
    await expect(session.getPortEndpoint({ port: 0 })).rejects.toMatchObject({ reason: "invalid_argument" });
  });

  it("private ports are reached with the headers of their endpoint, and have no URL that is enough", async () => {
    const sandbox = await create({ network: { allowPublicTraffic: false } });
    const session = await openNetworkSandboxSession(sandbox);
    const { url, headers } = await session.getPortEndpoint({ port: 4000 });
    const { "e2b-traffic-access-token": _, ...others } = headers ?? {};
    expect((await fetch(url, { headers: others })).status).toBe(403);
    expect((await fetch(url, { headers: headers ?? {} })).status).toBe(502);
    await expect(session.getPortUrl({ port: 4000 })).rejects.toThrow(/use getPortEndpoint/);
  });

  it("a network policy is in force at once, and leaves header rules as they are", async () => {
    const rules = { "api.example": [{ transform: { headers: { "X-Token": "secret" } } }] };
    const sandbox = await create({ network: { rules } });
    const session = await openNetworkSandboxSession(sandbox);
    const reaches = async () => (await session.run({ command: `curl -sS --max-time 10 ${url}` })).stdout === "reached";
    expect(await reaches()).toBe(false);
    await session.setNetworkPolicy({ mode: "custom", allowedCIDRs: [`${ADDRESS}/32`] });
    expect(await reaches()).toBe(true);
    await session.setNetworkPolicy({ mode: "custom", allowedCIDRs: ["127.0.0.0/28"], deniedCIDRs: [ADDRESS] });
    expect(await reaches()).toBe(false);
    await session.setNetworkPolicy({ mode: "custom", allowedHosts: ["*"], allowedCIDRs: ["127.0.0.0/28"] });
    expect(await reaches()).toBe(true);
    await session.setNetworkPolicy({ mode: "deny-all" });
    expect(await reaches()).toBe(false);
    expect(await sandbox.getInfo()).toMatchObject({ allowInternetAccess: false, network: { rules } });
    await session.setNetworkPolicy({ mode: "allow-all" });
    expect((await sandbox.getInfo()).allowInternetAccess).not.toBe(false);
    await expect(session.setNetworkPolicy({ mode: "custom", allowedHosts: ["a.example"], deniedCIDRs: ["8.8.8.8"] })).rejects.toMatchObject(
      {
        reason: "unimplemented",
      },
    );
    expect((await sandbox.getInfo()).network).toEqual({ rules });
  });

  it("header rules replace each other and leave the policy as it is, also when both change at the same time", async () => {
    const sandbox = await create();
    const session = await openNetworkSandboxSession(sandbox);
    const transformation = { match: { host: "api.example" }, transform: { headers: { "X-Token": "1" } } };
    await Promise.all([
      session.setNetworkPolicy({ mode: "custom", allowedHosts: ["api.example"] }),
      session.setRequestTransformations([transformation]),
      session.setRequestTransformations([{ ...transformation, match: { host: "*.other.example" } }]),
      session.setNetworkPolicy({ mode: "custom", allowedHosts: ["b.example"] }),
    ]);
    expect((await sandbox.getInfo()).network).toEqual({
      allowOut: ["b.example"],
      denyOut: ["0.0.0.0/0"],
      rules: { "*.other.example": [{ transform: { headers: { "X-Token": "1" } } }] },
    });
    const conditional = { ...transformation, match: { host: "api.example", path: { startsWith: "/v1" } } };
    await expect(session.setRequestTransformations([conditional])).rejects.toMatchObject({ reason: "unimplemented" });
    await session.setRequestTransformations([]);
    expect((await sandbox.getInfo()).network).toMatchObject({ allowOut: ["b.example"], rules: {} });
  });

  it("a proxy stays, and one with a password has to be given again", async () => {
    const egressProxy = { address: "proxy.example:1080", username: "u", password: "p" };
    const sandbox = await create({ network: { egressProxy } });
    const without = await openNetworkSandboxSession(sandbox);
    await expect(without.setNetworkPolicy({ mode: "deny-all" })).rejects.toThrow(/give egressProxy to the session/);
    const session = await openNetworkSandboxSession(sandbox, { egressProxy });
    await session.setNetworkPolicy({ mode: "deny-all" });
    expect((await sandbox.getInfo()).network).toMatchObject({ denyOut: ["0.0.0.0/0"], egressProxy: { address: "proxy.example:1080" } });
  });

  it("stop keeps the files and ends the processes, destroy keeps nothing, and both may come again", async () => {
    const sandbox = await create();
    const session = await openNetworkSandboxSession(sandbox);
    await session.writeTextFile({ path: "kept.txt", content: "kept" });
    const process = await session.spawn({ command: "exec sleep 4731" });
    const ended = expect(process.wait()).rejects.toMatchObject({ name: expect.any(String) as string });
    await Promise.all([session.stop(), session.stop()]);
    await session.stop();
    await ended;
    expect(await sandbox.getInfo()).toMatchObject({ state: "paused" });
    await sandbox.connect({ timeoutMs: 60_000 });
    expect(await session.readTextFile({ path: "kept.txt" })).toBe("kept");
    expect((await session.run({ command: "pgrep -f '[s]leep 4731'" })).exitCode).toBe(1);
    await session.stop();
    await Promise.all([session.destroy(), session.destroy()]);
    await session.destroy();
    await session.stop();
    await expect.poll(() => sandbox.isRunning(), POLL).toBe(false);
    await expect(sandbox.getInfo()).rejects.toMatchObject({ reason: "sandbox_not_found" });
  });

  it("a sandbox of somebody else is left alone", async () => {
    const sandbox = await create();
    const session = await openNetworkSandboxSession(sandbox, { onStop: "leave" });
    await session.stop();
    await session.destroy();
    expect(await sandbox.getInfo()).toMatchObject({ state: "running" });
  });
});
