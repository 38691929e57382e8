import { afterAll, beforeAll, expect, it } from "vitest";
import { hasEnded, SandboxLife } from "../../src/agent/sandbox-life.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../support/platform.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("the life of a sandbox in use", ({ apiUrl, sandboxUrl, apiKey }) => {
  const LIFE_MS = 60_000;
  let sandbox: Sandbox;
  const endsIn = async () => (await sandbox.getInfo()).endAt.getTime() - Date.now();
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: LIFE_MS });
  });
  afterAll(() => sandbox.kill());

  it("is prolonged where a call may take longer than what is left, and only then", async () => {
    const life = new SandboxLife(sandbox, LIFE_MS, performance.now() + LIFE_MS);
    const { endAt } = await sandbox.getInfo();
    await life.prolong(1_000);
    expect((await sandbox.getInfo()).endAt).toEqual(endAt);
    await life.prolong(600_000);
    expect(await endsIn()).toBeGreaterThan(600_000);
    await life.prolong(1_000);
    expect(await endsIn()).toBeGreaterThan(590_000);
  });

  it("goes on while it is held", async () => {
    await sandbox.setTimeout(20_000);
    const life = new SandboxLife(sandbox, 4_000, performance.now());
    const release = life.hold();
    life.hold()();
    await expect.poll(endsIn, POLL).toBeGreaterThan(25_000);
    release();
    release();
  });

  it("a sandbox that was paused is woken", async () => {
    await sandbox.pause();
    await new SandboxLife(sandbox, LIFE_MS, performance.now()).prolong(1_000);
    expect((await sandbox.commands.run("echo awake")).stdout).toBe("awake\n");
  });

  it("is nobody's business where it is somebody else's", async () => {
    const { endAt } = await sandbox.getInfo();
    const life = new SandboxLife(sandbox, 0, Number.POSITIVE_INFINITY);
    life.hold()();
    await life.prolong(3_600_000);
    expect((await sandbox.getInfo()).endAt).toEqual(endAt);
  });

  it("has an end that errors tell", async () => {
    await sandbox.kill();
    const failure = await sandbox.files.read("x").catch((error: unknown) => error);
    expect(hasEnded(failure)).toBe(true);
    await expect(new SandboxLife(sandbox, LIFE_MS, performance.now()).prolong(1_000)).rejects.toSatisfy(hasEnded);
    expect(hasEnded(new Error("other"))).toBe(false);
  });
});
