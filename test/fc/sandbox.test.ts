import { expect, it, vi } from "vitest";
import { Sandbox, SandboxNotFoundError, TimeoutError } from "../../src/index.js";
import { FcSandbox, fcConnection } from "../../src/sandbox/fc/index.js";
import { hideAmbientSettings } from "./support/ambient-settings.js";
import { API_KEY, DOMAIN, FcStandIn, REGION } from "./support/stand-in.js";

hideAmbientSettings();

const connectTo = (standIn: FcStandIn) => fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch });

it("commands and files work over JSON under a URL that the client builds, and no newer route is tried", async () => {
  await using standIn = await FcStandIn.open();
  await using sandbox = await FcSandbox.create("base", { ...connectTo(standIn), timeoutMs: 90_000 });
  expect(sandbox.sandboxId).toMatch(/^sbx-/);
  expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${DOMAIN}`);
  expect(await sandbox.commands.run("echo out; echo err >&2")).toMatchObject({ exitCode: 0, stdout: "out\n", stderr: "err\n" });
  await sandbox.files.write("a.txt", "text");
  expect(await sandbox.files.read("a.txt")).toBe("text");
  expect((await sandbox.files.list(".")).map(({ name }) => name)).toContain("a.txt");
  expect(await sandbox.getInfo()).toMatchObject({ sandboxId: sandbox.sandboxId, state: "running", cpuCount: 2, memoryMB: 2048 });
  expect(standIn.requestsTo("api.")[0]).toBe("POST /sandboxes");
  expect(JSON.parse(standIn.seen[0]?.body ?? "")).toEqual({ templateID: "base", secure: true, timeout: 90 });
  const hosts = new Set(standIn.seen.map(({ host }) => host));
  expect([...hosts]).toEqual([`api.${DOMAIN}`, `49983-${sandbox.sandboxId}.${DOMAIN}`]);
  const types = standIn.seen.flatMap(({ headers }) => headers["content-type"] ?? []).filter((type) => type.includes("proto"));
  expect(types).toEqual([]);
});

it("binary messages are refused before anything is sent", async () => {
  await using standIn = await FcStandIn.open();
  await expect(FcSandbox.create({ ...connectTo(standIn), encoding: "binary" })).rejects.toThrow(/refuses binary/);
  expect(standIn.seen).toEqual([]);
});

it("the plain Sandbox knows the service by its host name", async () => {
  await using standIn = await FcStandIn.open();
  const options = { domain: DOMAIN, apiKey: API_KEY, fetch: standIn.fetch };
  await using sandbox = await Sandbox.create(options);
  expect(await sandbox.isRunning()).toBe(true);
  expect(standIn.requestsTo("api.")).toEqual(["POST /sandboxes"]);
  expect(await Sandbox.list({ ...options, query: { state: ["running", "paused"] } }).nextItems()).toHaveLength(1);
});

it("a sandbox that was made a moment ago is found by its id and can be killed, although the service does not know it yet", async () => {
  await using standIn = await FcStandIn.open();
  const connection = connectTo(standIn);
  standIn.sandboxes.lag = 2;
  const first = await FcSandbox.create(connection);
  expect((await first.getInfo()).sandboxId).toBe(first.sandboxId);
  const second = await FcSandbox.create(connection);
  expect((await Sandbox.connect(second.sandboxId, connection)).sandboxId).toBe(second.sandboxId);
  const third = await FcSandbox.create(connection);
  expect(await third.kill()).toBe(true);
  expect(await third.kill()).toBe(false);
  expect(await Sandbox.kill("sbx-never-made", connection)).toBe(false);
});

it("a killed sandbox, told by 202, answers 502 with a page, which is the end of its life and no crash", async () => {
  await using standIn = await FcStandIn.open();
  const sandbox = await FcSandbox.create(connectTo(standIn));
  expect(await sandbox.kill()).toBe(true);
  expect(await sandbox.isRunning()).toBe(false);
  await expect(sandbox.commands.run("true")).rejects.toBeInstanceOf(SandboxNotFoundError);
  const error = await sandbox.files.read("a.txt").catch((e: unknown) => e);
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ timeout: "sandbox", reason: "sandbox_gone", requestId: expect.stringMatching(/-/) as string });
  await expect(sandbox.getInfo()).rejects.toMatchObject({ reason: "sandbox_not_found", requestId: expect.stringMatching(/-/) as string });
});

it("a life is at least a minute, and 0 ends it", async () => {
  await using standIn = await FcStandIn.open();
  const sandbox = await FcSandbox.create({ ...connectTo(standIn), timeoutMs: 1_000 });
  expect(JSON.parse(standIn.seen[0]?.body ?? "")).toMatchObject({ timeout: 60 });
  const { startedAt, endAt } = await sandbox.getInfo();
  expect(endAt.getTime() - startedAt.getTime()).toBe(60_000);
  await sandbox.setTimeout(120_000);
  expect((await sandbox.getInfo()).endAt.getTime()).toBeGreaterThan(endAt.getTime());
  await sandbox.setTimeout(0);
  await expect(sandbox.getInfo()).rejects.toMatchObject({ reason: "sandbox_not_found" });
  await expect(sandbox.setTimeout(0)).rejects.toMatchObject({ reason: "sandbox_not_found" });
});

it("waits no longer for the service to know a sandbox when the clock is set back", async () => {
  await using standIn = await FcStandIn.open();
  const sandbox = await FcSandbox.create(connectTo(standIn));
  const url = `https://api.${DOMAIN}/sandboxes/${sandbox.sandboxId}`;
  expect((await standIn.fetch(url, { method: "DELETE", headers: { "x-api-key": API_KEY } })).ok).toBe(true);
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() - 24 * 3_600_000);
  await expect(sandbox.getInfo()).rejects.toMatchObject({ reason: "sandbox_not_found" });
  vi.useRealTimers();
});

it("pause and connect go through the states that the service tells", async () => {
  await using standIn = await FcStandIn.open();
  await using sandbox = await FcSandbox.create(connectTo(standIn));
  expect(await sandbox.pause()).toBe(true);
  expect((await sandbox.getInfo()).state).toBe("paused");
  expect(await sandbox.isRunning()).toBe(false);
  await sandbox.connect();
  expect((await sandbox.getInfo()).state).toBe("running");
});

it("the token of ports that are not public comes from create and connect, as a header", async () => {
  await using standIn = await FcStandIn.open();
  const connection = connectTo(standIn);
  await using open = await FcSandbox.create(connection);
  expect(open.trafficHeaders).toEqual({});
  await using closed = await FcSandbox.create({ ...connection, network: { allowPublicTraffic: false } });
  const headers = { "e2b-traffic-access-token": expect.stringMatching(/.{36}/) as string };
  expect(closed.trafficHeaders).toEqual(headers);
  expect((await FcSandbox.connect<FcSandbox>(closed.sandboxId, connection)).trafficHeaders).toEqual(closed.trafficHeaders);
});

it("FcSandbox outside of the service says what to pass", async () => {
  await expect(FcSandbox.create({ apiKey: "k", apiUrl: "http://127.0.0.1:1" })).rejects.toThrow(/fcConnection/);
});
