import { text } from "node:stream/consumers";
import { ProcessHandle, SandboxProcessManager } from "@mastra/core/workspace";
import { afterAll, beforeAll, expect, expectTypeOf, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import type { AgentSandboxProcess } from "../../../src/agent/mastra/agent-sandbox-process.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("processes of a Mastra sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  let sandbox: AgentSandbox;
  beforeAll(async () => {
    sandbox = new AgentSandbox({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 } });
    await sandbox.start();
  });
  afterAll(() => sandbox._destroy());

  it("are what Mastra takes for processes", async () => {
    expectTypeOf<AgentSandboxProcess>().toExtend<ProcessHandle>();
    expect(sandbox.processes).toBeInstanceOf(SandboxProcessManager);
    const process = await sandbox.processes.spawn("true");
    expect(process).toBeInstanceOf(ProcessHandle);
    expect(process.pid).toMatch(/^\d+$/);
    expect(process.command).toBe("true");
    expect(await process.wait()).toMatchObject({ success: true, exitCode: 0, command: "true" });
  });

  it("take input until it is closed", async () => {
    const process = await sandbox.processes.spawn("cat");
    await process.sendStdin("grüße ");
    await process.sendStdin("✓\n");
    await process.closeStdin();
    expect(await process.wait()).toMatchObject({ stdout: "grüße ✓\n", exitCode: 0 });
    await expect(process.sendStdin("late")).rejects.toThrow(/has ended with exit code 0/);
    expect(await process.kill()).toBe(false);
    const deaf = await sandbox.processes.spawn("cat; sleep 60", { stdinMode: "ignore" });
    await expect(deaf.sendStdin("x")).rejects.toThrow(/no standard input/);
    await expect(deaf.closeStdin()).rejects.toThrow(/no standard input/);
    await deaf.kill();
  });

  it("are streams of Node", async () => {
    const process = await sandbox.processes.spawn("tr a-z A-Z");
    const all = text(process.reader);
    process.writer.write("first ");
    process.writer.end("second");
    expect(await all).toBe("FIRST SECOND");
  });

  it("are listed, found, waited for and killed by pid, also those that were not started here", async () => {
    const process = await sandbox.processes.spawn("echo ready; sleep 77", { stdinMode: "ignore" });
    const foreign = await sandbox.use(({ commands }) => commands.start("read line; echo got $line; exit 4", { stdin: true, timeoutMs: 0 }));
    const foreignPid = String(foreign.pid);
    expect(await sandbox.processes.list()).toEqual(
      expect.arrayContaining([
        { pid: process.pid, command: "echo ready; sleep 77", running: true },
        { pid: foreignPid, command: "read line; echo got $line; exit 4", running: true },
      ]),
    );
    expect(await sandbox.processes.get(process.pid)).toBe(process);
    await expect.poll(() => process.stdout, POLL).toBe("ready\n");
    const joined = await sandbox.processes.get(foreignPid);
    expect(joined?.command).toBe("read line; echo got $line; exit 4");
    await joined?.sendStdin("it\n");
    expect(await joined?.wait()).toMatchObject({ stdout: "got it\n", exitCode: 4, success: false });
    expect(await sandbox.processes.kill(process.pid)).toBe(true);
    expect(await process.wait()).toMatchObject({ exitCode: 137, killed: true });
    expect(await sandbox.processes.get(process.pid)).toBeUndefined();
    expect(await sandbox.processes.kill(process.pid)).toBe(false);
    for (const pid of ["999999", "0", "-1", "x", "", "1e3", "99999999999999999999"]) {
      expect(await sandbox.processes.get(pid)).toBeUndefined();
      expect(await sandbox.processes.kill(pid)).toBe(false);
    }
  });

  it("give their whole output to listeners, which have the handle by then", async () => {
    for (let round = 0; round < 10; round++) {
      const seen: string[] = [];
      let process: AgentSandboxProcess | undefined;
      process = await sandbox.processes.spawn("echo fast", { onStdout: (data) => void seen.push(`${process?.pid}:${data}`) });
      await process.wait();
      expect(seen.join("")).toBe(`${process.pid}:fast\n`);
    }
    const process = await sandbox.processes.spawn("read go; seq 1 3", {});
    const during: string[] = [];
    const waiting = process.wait({ onStdout: (data) => void during.push(data) });
    await process.sendStdin("\n");
    expect(await waiting).toMatchObject({ stdout: "1\n2\n3\n" });
    expect(during.join("")).toBe("1\n2\n3\n");
  });

  it("keep the newest of their output", async () => {
    const process = await sandbox.processes.spawn("seq 1 300000; exit 1");
    const result = await process.wait();
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(1024 * 1024);
    expect(result).toMatchObject({ stdoutTruncated: true, exitCode: 1 });
    expect(result.stdout.endsWith("300000\n")).toBe(true);
  });

  it("end with the signal of their start, and of a wait", async () => {
    const controller = new AbortController();
    const process = await sandbox.processes.spawn("sleep 60", { abortSignal: controller.signal });
    controller.abort();
    expect(await process.wait()).toMatchObject({ killed: true });
    const waiting = new AbortController();
    const other = await sandbox.processes.spawn("echo up; sleep 60");
    const ended = other.wait({ abortSignal: waiting.signal });
    await expect.poll(() => other.stdout, POLL).toBe("up\n");
    waiting.abort();
    expect(await ended).toMatchObject({ killed: true, stdout: "up\n" });
  });

  it("have a time limit of their own, and end by signals and for want of memory as they do in a shell", async () => {
    const limited = await sandbox.processes.spawn("sleep 60", { timeout: 300 });
    expect(await limited.wait()).toMatchObject({ exitCode: 124, timedOut: true });
    const terminated = await sandbox.processes.spawn("kill -TERM $$");
    expect(await terminated.wait()).toMatchObject({ exitCode: 143, killed: true });
    await expect(sandbox.processes.spawn("true", { timeout: -1 })).rejects.toMatchObject({ name: "SandboxExecutionError" });
    await expect(sandbox.processes.spawn("true", { maxRetainedBytes: -1 })).rejects.toThrow(RangeError);
  });

  it("many at a time do not mix", async () => {
    const processes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => sandbox.processes.spawn(`echo ${n}; echo ${n} >&2; exit ${n}`)),
    );
    const results = await Promise.all(processes.map((process) => process.wait()));
    expect(results.map(({ stdout, stderr, exitCode }) => ({ stdout, stderr, exitCode }))).toEqual(
      processes.map((_, n) => ({ stdout: `${n}\n`, stderr: `${n}\n`, exitCode: n })),
    );
  });
});
