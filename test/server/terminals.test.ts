import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startTestServer, type TestServer } from "./support/test-server.js";

interface Message {
  readonly type: string;
  readonly event?: string;
  readonly data?: string;
  readonly session_id?: string;
  readonly pid?: number;
}

/** A client of one terminal, which remembers what it was told. */
function connectTo(url: string, options: { readonly origin?: string } = {}) {
  const socket = new WebSocket(url, options);
  const messages: Message[] = [];
  let check = () => {};
  socket.on("message", (data) => {
    messages.push(JSON.parse(String(data)) as Message);
    check();
  });
  const failed = once(socket, "error") as Promise<[Error]>;
  failed.catch(() => {});
  const closed = new Promise<[number, string]>((resolve) => {
    socket.once("close", (code, reason) => resolve([code, String(reason)]));
  });
  return {
    socket,
    messages,
    closed,
    failed,
    output: () => messages.map(({ data = "" }) => data).join(""),
    send: (message: object) => socket.send(JSON.stringify(message)),
    until: (isTrue: () => boolean) =>
      new Promise<void>((resolve) => {
        check = () => isTrue() && resolve();
        check();
      }),
  };
}

describe("terminals", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const open = async (body: object = {}) => (await server.call("POST", "/pty/sessions", { shell: "/bin/sh", ...body })).body;
  const toUrl = (id: string, port = server.server.ptyPort) => `ws://127.0.0.1:${port}/pty?session_id=${id}`;

  test("are opened, typed into, resized, signalled and closed", async () => {
    const { session_id: id, ws_url: url, pid } = await open({ cols: 100, rows: 30, env: { PS1: "> ", COLOUR: "blue" } });
    expect(url).toBe(`ws://localhost:${server.server.ptyPort}/pty?session_id=${id}`);
    expect(id).toMatch(/^[0-9a-f]{48}$/);
    expect((await server.call("GET", "/pty/sessions")).body.sessions).toContainEqual({
      id,
      pid,
      cols: 100,
      rows: 30,
      alive: true,
      created_at: expect.any(Number),
    });
    const client = connectTo(toUrl(id));
    await client.until(() => client.messages.length > 0);
    expect(client.messages[0]).toEqual({ type: "event", event: "started", session_id: id, pid });
    client.send({ type: "input", data: "echo $COLOUR-$(stty size | tr ' ' x)\n" });
    await client.until(() => client.output().includes("blue-30x100"));
    client.send({ type: "resize", cols: 90, rows: 20 });
    client.send({ type: "resize", cols: "wide", rows: 0 });
    client.send({ type: "unknown" });
    client.socket.send("no json");
    client.send({ type: "input", data: "stty size; sleep 60\n" });
    await client.until(() => client.output().includes("20 90"));
    client.send({ type: "signal", signal: "SIGNONE" });
    client.send({ type: "signal", signal: "SIGKILL" });
    await client.until(() => client.messages.some(({ event }) => event === "exited"));
    expect(client.messages.at(-1)).toEqual({ type: "event", event: "exited", session_id: id });
    await client.closed;
    expect((await server.call("GET", "/pty/sessions")).body.sessions).toEqual([]);
  });

  test("show a later connection what an earlier one did not get", async () => {
    const { session_id: id } = await open({ env: { PS1: "" } });
    const first = connectTo(toUrl(id));
    await first.until(() => first.messages.length > 0);
    first.send({ type: "input", data: "stty -echo; echo one\n" });
    await first.until(() => /^one/m.test(first.output()));
    first.socket.close();
    await first.closed;
    const second = connectTo(toUrl(id, server.server.port));
    second.socket.once("open", () => second.send({ type: "input", data: "echo two\n" }));
    await second.until(() => second.output().includes("two"));
    expect(second.output()).not.toContain("one");
    expect((await server.call("DELETE", `/pty/sessions/${id}`)).body).toEqual({ status: "closed", session_id: id });
    await second.closed;
    expect((await server.call("DELETE", `/pty/sessions/${id}`)).status).toBe(404);
  });

  test.each([
    ["", "Missing session_id parameter"],
    ["guess", "Unknown session: guess"],
  ])("close a connection with the session %j by code 1008", async (id, reason) => {
    const client = connectTo(toUrl(id));
    expect(await client.closed).toEqual([1008, reason]);
  });

  test("are not for pages, and their port has no other routes", async () => {
    const { session_id: id } = await open();
    const client = connectTo(toUrl(id), { origin: "https://evil.example" });
    const [error] = await client.failed;
    expect(error.message).toContain("403");
    expect((await fetch(`http://127.0.0.1:${server.server.ptyPort}/health`)).status).toBe(426);
    await server.call("DELETE", `/pty/sessions/${id}`);
  });

  test("at most 10 are open, and sizes and shells that cannot be are refused", async () => {
    await using own = await startTestServer();
    const answers = await Promise.all(Array.from({ length: 11 }, () => own.call("POST", "/pty/sessions", { shell: "/bin/sh" })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.find(({ status }) => status !== 200)).toMatchObject({ status: 429, body: { type: "RuntimeError" } });
    expect((await server.call("POST", "/pty/sessions", { cols: "wide" })).status).toBe(400);
    expect((await server.call("POST", "/pty/sessions", { cols: 0 })).status).toBe(400);
    expect((await server.call("POST", "/pty/sessions", { cols: 70_000 })).status).toBe(400);
    expect((await server.call("POST", "/pty/sessions", { shell: "/no/shell" })).status).toBe(400);
    expect((await server.call("POST", "/pty/sessions", { env: { A: 1 } })).status).toBe(400);
  });
});
