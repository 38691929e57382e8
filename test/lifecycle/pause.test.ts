import { afterEach, expect, it } from "vitest";
import { type ConnectionOptions, FailedPreconditionError, Sandbox, SandboxError, SandboxNotFoundError } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("pause and resume", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options: ConnectionOptions = { apiUrl, sandboxUrl, apiKey };
  const made: Sandbox[] = [];
  const create = async (more = {}) => {
    const sandbox = await Sandbox.create({ ...options, timeoutMs: 120_000, ...more });
    made.push(sandbox);
    return sandbox;
  };
  const untilPaused = (sandbox: Sandbox) => expect.poll(async () => (await sandbox.getInfo()).state, { timeout: 15_000 }).toBe("paused");
  afterEach(async () => {
    await Promise.all(made.splice(0).map((sandbox) => sandbox.kill()));
  });

  it("LIF-10: a second pause is false, connecting is idempotent, and what a paused sandbox cannot do is told", async () => {
    const sandbox = await create();
    expect(await sandbox.pause()).toBe(true);
    expect(await sandbox.pause()).toBe(false);
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ state: "paused", memoryState: "kept" });
    expect(Math.abs(info.endAt.getTime() - Date.now())).toBeLessThan(10_000);
    await expect(sandbox.setTimeout(60_000)).rejects.toThrow(FailedPreconditionError);
    await expect(sandbox.commands.run("true")).rejects.toThrow(SandboxError);
    expect(await sandbox.isRunning()).toBe(false);
    expect((await Sandbox.list({ ...options, query: { state: ["paused"] } }).toArray()).map(({ sandboxId }) => sandboxId)).toContain(
      sandbox.sandboxId,
    );
    await sandbox.connect();
    await sandbox.connect();
    expect(await sandbox.isRunning()).toBe(true);
    await expect(Sandbox.pause("nosuchsandbox", options)).rejects.toThrow(SandboxNotFoundError);
  });

  it("keeps processes, and cold-boots from files when that is asked for", async () => {
    const sandbox = await create({ envs: { KEPT: "yes" } });
    const sleeper = await sandbox.commands.start("sleep 600");
    await sandbox.files.write("a.txt", "a");
    await sandbox.pause();
    await sandbox.connect();
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);

    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    expect((await sandbox.getInfo()).memoryState).toBe("dropped");
    await sandbox.connect();
    expect(await sandbox.commands.list()).toEqual([]);
    expect((await sandbox.commands.run("cat a.txt; echo $KEPT")).stdout).toBe("ayes\n");
    expect((await sandbox.getInfo()).memoryState).toBe("rebooted");

    await sandbox.commands.start("sleep 600");
    await sandbox.pause();
    await sandbox.connect({ onResume: "reboot" });
    expect(await sandbox.commands.list()).toEqual([]);
  });

  it("the time limit of a command stands still with it", async () => {
    const sandbox = await create();
    const limitMs = 3_000;
    const command = await sandbox.commands.start("echo up; read line; echo done", { timeoutMs: limitMs, stdin: true, tag: "limited" });
    await sandbox.pause();
    await new Promise((resolve) => setTimeout(resolve, limitMs + 500));
    await sandbox.connect();
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(command.pid);
  });

  it("LIF-11: files of every cycle stay, also with a program that writes all the time", async () => {
    const sandbox = await create();
    const writer = await sandbox.commands.start("i=0; while :; do i=$((i+1)); echo $i >> log; sleep 0.02; done");
    for (let cycle = 1; cycle <= 3; cycle += 1) {
      await sandbox.files.write(`f_${cycle}`, `content ${cycle}`);
      await sandbox.pause();
      await sandbox.connect();
      for (let known = 1; known <= cycle; known += 1) expect(await sandbox.files.read(`f_${known}`)).toBe(`content ${known}`);
    }
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(writer.pid);
    const lines = (await sandbox.files.read("log")).trim().split("\n").map(Number);
    expect(lines).toEqual(lines.map((_, index) => index + 1));
  });

  it("LIF-12: the policy holds after a connect: it pauses again at its next end of life", async () => {
    const sandbox = await create({ timeoutMs: 2_000, lifecycle: { onTimeout: "pause" } });
    await untilPaused(sandbox);
    await sandbox.connect({ timeoutMs: 2_000 });
    expect((await sandbox.getInfo()).lifecycle).toEqual({ onTimeout: "pause", autoResume: false });
    await untilPaused(sandbox);
  });

  it("wakes for a request where that is wanted, many at once too, and not without its memory", async () => {
    const sandbox = await create({ lifecycle: { onTimeout: "pause", autoResume: true } });
    await sandbox.files.write("a.txt", "a");
    await sandbox.pause();
    expect(await Promise.all(Array.from({ length: 8 }, () => sandbox.files.read("a.txt")))).toEqual(Array(8).fill("a"));
    expect((await sandbox.getInfo()).state).toBe("running");
    await sandbox.pause({ keepMemory: false });
    await expect(sandbox.files.read("a.txt")).rejects.toMatchObject({ reason: "sandbox_gone" });
  });

  it("pauses at the end of life with the files only when that was asked for", async () => {
    const sandbox = await create({ timeoutMs: 1_000, lifecycle: { onTimeout: { action: "pause", keepMemory: false } } });
    await expect.poll(async () => (await sandbox.getInfo()).memoryState, { timeout: 15_000 }).toBe("dropped");
  });

  it("LIF-06: calls at the same time all settle, and one kill wins", async () => {
    const sandbox = await create();
    const outcomes = await Promise.allSettled([
      sandbox.pause(),
      sandbox.pause(),
      sandbox.connect(),
      sandbox.pause({ keepMemory: false }),
      sandbox.connect(),
      sandbox.kill(),
      sandbox.kill(),
    ]);
    const kills = outcomes.slice(5).map((outcome) => outcome.status === "fulfilled" && outcome.value);
    expect(kills.filter((killed) => killed === true)).toHaveLength(1);
    await expect(sandbox.getInfo()).rejects.toThrow(SandboxNotFoundError);
  });

  it("kills a paused sandbox", async () => {
    const sandbox = await create();
    await sandbox.pause();
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.kill()).toBe(false);
  });

  it.each([
    [{ onTimeout: "kill", autoResume: true } as const, /autoResume needs/],
    [{ onTimeout: { action: "kill", keepMemory: false } } as const, /keepMemory needs/],
    [{ onTimeout: { action: "pause", keepMemory: false }, autoResume: true } as const, /needs the memory/],
    [{ onTimeout: "sleep" as "pause" }, /must be "kill" or "pause"/],
  ])("refuses the policy %j before any request", async (lifecycle, message) => {
    await expect(Sandbox.create({ ...options, lifecycle })).rejects.toThrow(message);
  });
});
