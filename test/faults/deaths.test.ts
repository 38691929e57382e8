import { afterAll, beforeAll, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { type KillablePlatform, startKillablePlatform } from "./support/killable-platform.js";

const COUNT = "for i in $(seq 1 60); do echo line $i; sleep 0.05; done; exit 5";
const COUNTED = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join("");

describeOnPlatform("a process of the platform that is killed outright", (running) => {
  let platform: KillablePlatform;
  beforeAll(async () => {
    platform = await startKillablePlatform();
  });
  afterAll(() => platform.stop());

  const create = () => Sandbox.create({ ...platform.connection(), timeoutMs: 300_000 });

  it("a daemon: the commands that it ran fail with the end of the sandbox, never with an exit code", async () => {
    const { apiUrl, sandboxUrl, apiKey } = running;
    const sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    const waiting = await sandbox.commands.start("echo up; sleep 100", { timeoutMs: 0 });
    const iterated = await sandbox.commands.start("sleep 100", { timeoutMs: 0 });
    const iteration = (async () => {
      for await (const _ of iterated);
    })();
    const killer = sandbox.commands.run("echo before; kill -9 $PPID; sleep 100", { user: "root", timeoutMs: 0 });
    const gone = { name: "TimeoutError", timeout: "sandbox", reason: "sandbox_gone" };
    const calls = [killer, waiting.wait(), iterated.waitForOutcome(), iteration];
    await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(gone)));
    expect(waiting).toMatchObject({ exitCode: undefined, stdout: "up\n" });
    await expect(sandbox.commands.run("true")).rejects.toMatchObject({ name: "SandboxNotFoundError" });
    await expect(sandbox.commands.connect(waiting.pid)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
    await expect(sandbox.commands.sendStdin(waiting.pid, "x")).rejects.toMatchObject({ name: "TimeoutError", timeout: "sandbox" });
    await sandbox.kill();
  });

  it("the platform, and a new one follows: commands go on with the next byte", async () => {
    const sandbox = await create();
    const seen: string[] = [];
    const running = sandbox.commands.run(COUNT, { reject: false, onStdout: (text) => void seen.push(text) });
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThan(3);
    await platform.kill();
    await platform.start();
    const { stdout, exitCode, missingBytes } = await running;
    expect({ stdout, exitCode, missingBytes }).toEqual({ stdout: COUNTED, exitCode: 5, missingBytes: undefined });
    expect(seen.join("")).toBe(COUNTED);
    await sandbox.kill();
  }, 60_000);

  it("the platform for good: after 30 seconds without a connection the command fails, and its exit stays unknown", async () => {
    const sandbox = await create();
    const handle = await sandbox.commands.start(COUNT);
    await expect.poll(() => handle.stdout, { timeout: 20_000 }).toContain("line 3\n");
    await platform.kill();
    const killedAt = Date.now();
    await expect(handle.waitForOutcome()).rejects.toMatchObject({ name: "ConnectionError", message: expect.stringMatching(/within 30 s/) });
    expect(Date.now() - killedAt).toBeLessThan(40_000);
    expect(handle.exitCode).toBeUndefined();
    expect(COUNTED.startsWith(handle.stdout)).toBe(true);
    await platform.start();
    await sandbox.kill();
  }, 90_000);
});
