import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./support/test-server.js";

describe("system routes", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startTestServer();
  });
  afterEach(() => server[Symbol.asyncDispose]());

  test("GET /system/info and /system/metrics describe the machine", async () => {
    const info = (await server.call("GET", "/system/info")).body;
    expect(info).toMatchObject({ os: "Linux", node_version: process.versions.node });
    expect(info.cpu_count).toBeGreaterThan(0);
    expect(info.memory_total_mb).toBeGreaterThan(info.memory_available_mb);
    expect(info.disk_total_gb).toBeGreaterThan(info.disk_free_gb);
    const metrics = (await server.call("GET", "/system/metrics")).body;
    expect(metrics.memory_percent).toBeGreaterThan(0);
    expect(metrics.memory_percent).toBeLessThan(100);
    expect(metrics.uptime_seconds).toBeGreaterThan(0);
  });

  test("GET /env leaves secrets out, and lists only what is asked for", async () => {
    const names = ["PLAIN", "MY_TOKEN", "aws_secret_x", "APIKEY", "Password1", "CREDENTIALS"].map((name) => `TEST_${name}`);
    for (const name of names) process.env[name] = "value";
    try {
      const { variables } = (await server.call("GET", "/env")).body;
      expect(names.filter((name) => name in variables)).toEqual(["TEST_PLAIN"]);
      expect((await server.call("GET", "/env?filter=TEST_PLAIN,TEST_MY_TOKEN,NONE")).body.variables).toEqual({ TEST_PLAIN: "value" });
    } finally {
      for (const name of names) delete process.env[name];
    }
  });

  test("POST /env sets variables for later programs, and refuses those that guard the server", async () => {
    try {
      expect((await server.call("POST", "/env", { vars: { TEST_B: "2", TEST_A: "1" } })).body).toEqual({ updated: ["TEST_A", "TEST_B"] });
      expect((await server.call("POST", "/shell", { command: "printenv TEST_A" })).body.stdout).toBe("1\n");
      for (const name of [
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "EBX_SERVER_TOKEN",
        "AGENT_SANDBOX_SERVER_TOKEN",
        "LD_PRELOAD",
        "NODE_OPTIONS",
      ]) {
        const refused = await server.call("POST", "/env", { vars: { TEST_C: "3", [name]: "x" } });
        expect(refused, name).toMatchObject({ status: 403, body: { type: "PermissionError" } });
      }
      expect(process.env.TEST_C).toBeUndefined();
      for (const vars of [undefined, [], "x", { A: 1 }, { "A=B": "x" }, { "": "x" }, { A: "x\0" }]) {
        expect((await server.call("POST", "/env", { vars })).status).toBe(400);
      }
    } finally {
      delete process.env.TEST_A;
      delete process.env.TEST_B;
    }
  });

  test("GET /ports lists what is listened on, of both families", async () => {
    const listeners = await Promise.all(
      ["127.0.0.1", "::1"].map(
        (host) =>
          new Promise<ReturnType<typeof createServer>>((resolve) => {
            const listener = createServer().listen(0, host, () => resolve(listener));
          }),
      ),
    );
    try {
      const { listening } = (await server.call("GET", "/ports")).body;
      for (const listener of listeners) {
        const { port, address } = listener.address() as AddressInfo;
        expect(listening).toContainEqual({ port, address, protocol: "tcp", pid: null });
      }
    } finally {
      for (const listener of listeners) listener.close();
    }
  });

  test("GET /packages lists packages of pip and npm, and knows no other manager", async () => {
    for (const manager of ["pip", "npm"]) {
      const { status, body } = await server.call("GET", `/packages?manager=${manager}`);
      expect([status, body.manager]).toEqual([200, manager]);
    }
    expect((await server.call("GET", "/packages")).body.manager).toBe("pip");
    expect((await server.call("GET", "/packages?manager=cargo")).status).toBe(400);
  });
});
