import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readEvents, startTestServer, type TestServer } from "./support/test-server.js";

describe("program routes", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const stream = (body: object) => fetch(`${server.url}/shell/stream`, { method: "POST", body: JSON.stringify(body) });

  test("POST /shell runs words as a program, without a shell", async () => {
    expect((await server.call("POST", "/shell", { command: `printf '%s|' "a b" c\\ d '$HOME' ; | > x` })).body).toEqual({
      stdout: "a b|c d|$HOME|;|||>|x|",
      stderr: "",
      exit_code: 0,
    });
    expect((await server.call("POST", "/shell", { command: "sh -c 'echo out; echo err >&2; exit 3'" })).body).toEqual({
      stdout: "out\n",
      stderr: "err\n",
      exit_code: 3,
    });
    expect((await server.call("POST", "/shell", { command: "sh -c 'kill -9 $$'" })).body).toMatchObject({ exit_code: -9 });
  });

  test.each([{}, { command: "" }, { command: "   " }, { command: 3 }, { command: "echo 'x" }, { command: "no-such-program-here" }])(
    "POST /shell refuses %j",
    async (body) => {
      expect(await server.call("POST", "/shell", body)).toMatchObject({ status: 400, body: { type: "ValueError" } });
    },
  );

  test("output above 8 MiB is cut, and the answer says so", async () => {
    const { body } = await server.call("POST", "/shell", { command: "head -c 9000000 /dev/zero" });
    expect(body.stdout).toHaveLength(8 * 1024 * 1024);
    expect(body).toMatchObject({ exit_code: 0, truncated: true });
  });

  test("POST /shell/stream sends lines in the order in which they were written", async () => {
    const response = await stream({ command: "sh -c 'echo a; sleep 0.05; echo b >&2; sleep 0.05; printf c'", cwd: "/tmp" });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(await readEvents(response)).toEqual([
      { event: "stdout", data: { data: "a" } },
      { event: "stderr", data: { data: "b" } },
      { event: "stdout", data: { data: "c" } },
      { event: "exit", data: { exit_code: 0 } },
    ]);
  });

  test("POST /shell/stream tells a timeout, and a program that cannot start", async () => {
    expect(await readEvents(await stream({ command: "sleep 60", timeout: 0.1 }))).toEqual([
      { event: "error", data: { error: "timeout" } },
      { event: "exit", data: { exit_code: -9 } },
    ]);
    expect(await readEvents(await stream({ command: "no-such-program-here" }))).toMatchObject([{ event: "error" }]);
    expect((await stream({ command: "'" })).status).toBe(400);
  });

  test("a program ends with the client that streams it", async () => {
    const marker = `sleep 61.${process.pid}`;
    const call = request(`${server.url}/shell/stream`, { method: "POST" });
    call.on("error", () => {});
    await new Promise<void>((resolve) => {
      call.on("response", (response) => {
        response.once("data", () => resolve());
      });
      call.end(JSON.stringify({ command: `sh -c 'echo begun; exec ${marker}'` }));
    });
    call.destroy();
    await expect.poll(async () => (await server.call("POST", "/shell", { command: `pgrep -fx '${marker}'` })).body.stdout).toBe("");
  });

  test("processes run in the background, are listed, signalled and remembered", async () => {
    const started = await server.call("POST", "/process/start", {
      command: "sh -c 'trap \"exit 7\" TERM; echo up; sleep 60 & wait'",
      cwd: "/tmp",
    });
    const { pid } = started.body;
    expect(started.body.command).toContain("trap");
    const { body } = await server.call("GET", `/process/${pid}`);
    expect(body).toMatchObject({ pid, state: "running", exit_code: null });
    expect(Math.abs(body.started_at - Date.now() / 1000)).toBeLessThan(60);
    expect((await server.call("GET", "/process/list")).body.processes).toContainEqual(expect.objectContaining({ pid, state: "running" }));
    // The shell may not have set its trap yet; whichever way it ends, it ends.
    expect((await server.call("POST", `/process/${pid}/signal`, { signal: 15 })).body).toEqual({ pid, signal: 15 });
    await expect.poll(async () => (await server.call("GET", `/process/${pid}`)).body.state).toBe("exited");
    expect([7, -15]).toContain((await server.call("GET", `/process/${pid}`)).body.exit_code);
    expect((await server.call("GET", "/process/list")).body.processes).toContainEqual(expect.objectContaining({ pid, state: "exited" }));
  });

  test("signals that are not allowed, and processes of others, are refused", async () => {
    const { pid } = (await server.call("POST", "/process/start", { command: "sleep 60" })).body;
    for (const signal of [1, 11, 0, -1, "15", undefined])
      expect((await server.call("POST", `/process/${pid}/signal`, { signal })).status).toBe(400);
    for (const own of [1, process.pid]) {
      expect(await server.call("POST", `/process/${own}/signal`, { signal: 15 })).toMatchObject({
        status: 403,
        body: { type: "PermissionError" },
      });
    }
    expect(await server.call("POST", "/process/999999999/signal", { signal: 9 })).toMatchObject({
      status: 404,
      body: { type: "NotFoundError" },
    });
    expect((await server.call("POST", "/process/abc/signal", { signal: 9 })).status).toBe(400);
    expect((await server.call("GET", "/process/-1")).status).toBe(400);
    expect((await server.call("POST", `/process/${pid}/signal`, { signal: 9 })).status).toBe(200);
  });

  test("at most 100 processes run at a time", async () => {
    await using own = await startTestServer();
    const answers = await Promise.all(Array.from({ length: 101 }, () => own.call("POST", "/process/start", { command: "sleep 60" })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.find(({ status }) => status !== 200)).toMatchObject({ status: 429, body: { type: "ResourceError" } });
  });
});
