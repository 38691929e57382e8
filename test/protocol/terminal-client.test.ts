import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTerminalClient, type TerminalClient } from "../../src/protocol/terminal-client.js";
import type { TerminalStream } from "../../src/protocol/terminal-stream.js";
import { DaemonHttp } from "../../src/transport/daemon-http.js";
import { createFetchClient } from "../../src/transport/http-fetch.js";
import { toSafeLogger } from "../../src/transport/logger.js";
import { createWebSocketOpener } from "../../src/transport/websocket-web.js";
import { startTestDaemon, type TestDaemon } from "../daemon/support/process-daemon.js";
import { type FaultProxy, openFaultProxy } from "../faults/support/fault-proxy.js";

const TOKEN = "secret-of-this-sandbox";
const options = { operation: "pty.create", timeoutMs: 0, acceptsGaps: true };
const bash = (command: string) => ({ cmd: "/bin/bash", args: ["-c", command], envs: {}, pty: { cols: 80, rows: 24 } });

describe("terminals with what a page has: fetch, WebSocket without headers, and tickets", () => {
  let daemon: TestDaemon;
  let proxy: FaultProxy;
  let terminals: TerminalClient;
  let logged = "";
  beforeAll(async () => {
    daemon = await startTestDaemon();
    daemon.daemon.state.apply({ accessToken: TOKEN });
    proxy = await openFaultProxy(daemon.port);
    const log = (...facts: unknown[]) => {
      logged += JSON.stringify(facts);
    };
    const shared = { baseUrl: proxy.url, headers: { "x-access-token": TOKEN }, sandboxId: "itest", requestTimeoutMs: 10_000 };
    const http = new DaemonHttp({
      ...shared,
      http: createFetchClient(() => globalThis.fetch),
      retries: 3,
      logger: toSafeLogger({ debug: log, info: log, warn: log, error: log }),
    });
    terminals = createTerminalClient({ ...shared, http, sockets: createWebSocketOpener(), hostUrl: proxy.url });
  });
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
  });

  const read = async (stream: TerminalStream, onText: (text: string) => void = () => {}) => {
    let text = "";
    let end: unknown;
    for await (const event of stream.events) {
      if (event.type === "pty") text += new TextDecoder().decode(event.data);
      if (event.type === "end") end = event;
      onText(text);
    }
    return { text, end };
  };

  it("starts, types, resizes and ends", async () => {
    const stream = await terminals.start(bash("read -r line; stty size; echo got-$line; exit 6"), options);
    await stream.resize({ cols: 91, rows: 31 }, { operation: "pty.resize" });
    await stream.sendInput(new TextEncoder().encode("key\n"), { operation: "pty.sendInput" });
    const { text, end } = await read(stream);
    expect(text).toContain("31 91\r\ngot-key");
    expect(end).toMatchObject({ exitCode: 6, error: "exit status 6" });
  });

  it("goes on after a cut with a new ticket", async () => {
    const stream = await terminals.start(bash("stty -echo; echo ready; for i in 1 2 3 4 5; do read -r line; echo $i-$line; done"), options);
    let sent = 0;
    const { text, end } = await read(stream, (soFar) => {
      if (soFar.split("\n").length - 1 <= sent) return;
      sent += 1;
      proxy.resetAll();
      // The last one may be typed into a terminal that has ended.
      stream.sendInput(new TextEncoder().encode("x\n"), { operation: "pty.sendInput" }).catch(() => {});
    }).catch((error: unknown) => ({ text: "", end: error }));
    expect(end).toMatchObject({ exitCode: 0 });
    expect(text).toContain("1-x\r\n2-x\r\n3-x\r\n4-x\r\n5-x\r\n");
  });

  it("attaches, and tells what is wrong in typed errors", async () => {
    const first = await terminals.start(bash("cat"), options);
    const second = await terminals.attach(first.pid, { ...options, operation: "pty.connect", fromOffset: 0 });
    await second.sendInput(new Uint8Array([4]), { operation: "pty.sendInput" });
    expect((await read(second)).end).toMatchObject({ exitCode: 0 });
    await expect(terminals.attach(4_194_999, { ...options, operation: "pty.connect" })).rejects.toMatchObject({
      reason: "process_not_found",
    });
    await expect(terminals.start({ ...bash("true"), cwd: "/no/such" }, options)).rejects.toMatchObject({ reason: "invalid_argument" });
    await expect(terminals.start({ ...bash("true"), user: "nosuch" }, options)).rejects.toMatchObject({ reason: "authentication" });
  });

  it("writes no ticket to a log", async () => {
    const url = await terminals.ticketUrl({ target: { start: bash("true"), timeoutMs: 0 } }, { operation: "pty.webSocketUrl" });
    const ticket = new URL(url).searchParams.get("ticket") ?? "";
    expect(ticket.length).toBeGreaterThan(40);
    expect(logged).not.toContain(ticket);
    expect(logged).not.toContain("ticket=");
    expect(logged).not.toContain(TOKEN);
  });
});
