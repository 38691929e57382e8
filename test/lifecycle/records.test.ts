import { afterEach, expect, it } from "vitest";
import {
  type ConnectionOptions,
  InvalidArgumentError,
  Sandbox,
  type SandboxCreateOptions,
  type SandboxEvent,
  SandboxNotFoundError,
} from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("metrics, logs and events", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options: ConnectionOptions = { apiUrl, sandboxUrl, apiKey };
  const made: Sandbox[] = [];
  const create = async (more: SandboxCreateOptions = {}) => {
    const sandbox = await Sandbox.create({ ...options, timeoutMs: 120_000, ...more });
    made.push(sandbox);
    return sandbox;
  };
  afterEach(async () => {
    await Promise.all(made.splice(0).map((sandbox) => sandbox.kill()));
  });

  it("LIF-15: samples are exact, in their range, and empty where nothing was measured", async () => {
    const sandbox = await create();
    await sandbox.commands.run("dd if=/dev/zero of=big bs=1M count=64 status=none");
    await sandbox.commands.start("while :; do :; done");
    await expect.poll(async () => (await sandbox.getMetrics()).at(-1)?.cpuUsedPct ?? 0, { timeout: 25_000 }).toBeGreaterThan(5);
    const samples = await sandbox.getMetrics();
    const last = samples.at(-1);
    expect(Math.abs((last?.timestamp.getTime() ?? 0) - Date.now())).toBeLessThan(12_000);
    expect(last?.memTotal).toBe((await sandbox.getInfo()).memoryMB * 2 ** 20);
    expect(last?.diskTotal).toBeGreaterThan(last?.diskUsed ?? 0);
    await expect.poll(async () => (await sandbox.getMetrics()).at(-1)?.diskUsed ?? 0, { timeout: 25_000 }).toBeGreaterThan(64 * 2 ** 20);
    const early = new Date(Date.now() - 3_600_000);
    expect(await sandbox.getMetrics({ start: new Date(early.getTime() - 60_000), end: early })).toEqual([]);
    await expect(sandbox.getMetrics({ start: new Date(), end: early })).rejects.toThrow(InvalidArgumentError);
    await expect(Sandbox.getMetrics("nosuchsandbox", options)).rejects.toThrow(SandboxNotFoundError);
  }, 90_000);

  it("tells the life of a sandbox in its log", async () => {
    const sandbox = await create();
    await sandbox.pause();
    await sandbox.connect();
    const logs = await sandbox.getLogs();
    expect(logs.map(({ fields }) => fields.event)).toEqual(["created", "paused", "resumed"]);
    expect((await sandbox.getLogs({ direction: "backward", limit: 1 })).map(({ fields }) => fields.event)).toEqual(["resumed"]);
    expect((await sandbox.getLogs({ search: "PAUSED" })).map(({ fields }) => fields.event)).toEqual(["paused"]);
    expect(await sandbox.getLogs({ level: "error" })).toEqual([]);
    expect(await sandbox.getLogs({ cursor: new Date(Date.now() + 60_000) })).toEqual([]);
  });

  it("keeps log and events of a sandbox that ended", async () => {
    const sandbox = await create();
    await sandbox.kill();
    const events: SandboxEvent[] = [];
    for await (const event of sandbox.events({ after: "0" })) events.push(event);
    expect(events.map(({ type }) => type)).toEqual(["created", "killed"]);
    for (const after of [undefined, events.at(-1)?.id]) {
      await expect(sandbox.events({ after }).next()).rejects.toThrow(SandboxNotFoundError);
    }
    const logs = await Sandbox.getLogs(sandbox.sandboxId, options);
    expect(logs.map(({ fields }) => fields.event)).toEqual(["created", "killed"]);
    await expect(Sandbox.getLogs("nosuchsandbox", options)).rejects.toThrow(SandboxNotFoundError);
  });

  it("has what goes wrong in the daemon in the log of its sandbox", async () => {
    const sandbox = await create({ allowInternetAccess: false });
    // Takes the place of the way out, which is closed at this moment.
    const listen =
      "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 49981)); s.listen(); print('taken', flush=True); time.sleep(60)";
    await new Promise<void>((resolve, reject) => {
      const options = { background: true as const, timeoutMs: 0, onStdout: () => resolve() };
      sandbox.commands.run(`python3 -c "${listen}"`, options).catch(reject);
    });
    await sandbox.updateNetwork({ allowInternetAccess: true });
    const complaints = async () => (await sandbox.getLogs({ level: "error" })).map(({ message }) => message);
    await expect.poll(complaints, { timeout: 15_000 }).toContainEqual(expect.stringContaining("cannot listen on port 49981"));
  });

  it("streams what happens, from the beginning or behind any event, and ends with the sandbox", async () => {
    const all: SandboxEvent[] = [];
    const left = new AbortController();
    const sandbox = await create();
    const watching = (async () => {
      for await (const event of Sandbox.events({ ...options, after: "0", signal: left.signal })) {
        if (event.sandboxId === sandbox.sandboxId) all.push(event);
      }
    })().catch((error: unknown) => error);
    await sandbox.pause();
    await sandbox.connect();
    const own = sandbox.events({ after: "0" });
    expect((await own.next()).value).toMatchObject({ type: "created", sandboxId: sandbox.sandboxId });
    await sandbox.kill();
    const rest: SandboxEvent[] = [];
    for await (const event of own) rest.push(event);
    expect(rest.map(({ type }) => type)).toEqual(["paused", "resumed", "killed"]);
    await expect.poll(() => all.map(({ type }) => type)).toEqual(["created", "paused", "resumed", "killed"]);
    left.abort(new Error("enough"));
    expect(await watching).toMatchObject({ message: "enough" });
  });

  it("tells that a process was killed for lack of memory", async () => {
    const sandbox = await create();
    const events = sandbox.events();
    const first = events.next();
    // Only once the stream is open does it begin with what comes next.
    await expect.poll(async () => (await sandbox.getLogs()).length).toBeGreaterThan(0);
    await sandbox.commands.run("python3 -c 'x = bytearray(4 << 30)'; exit 0", { timeoutMs: 60_000 }).catch(() => undefined);
    await expect
      .poll(async () => (await sandbox.getLogs({ level: "error" })).map(({ fields }) => fields.event), { timeout: 25_000 })
      .toContain("oom");
    expect((await first).value).toMatchObject({ type: "oom" });
    await events.return();
  }, 90_000);
});
