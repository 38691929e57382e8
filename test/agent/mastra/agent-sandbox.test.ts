import { supportsNetworking, type WorkspaceSandbox } from "@mastra/core/workspace";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import type { AgentSandboxOptions } from "../../../src/agent/mastra/agent-sandbox-options.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("a sandbox of a Mastra workspace", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const made: AgentSandbox[] = [];
  const make = (options: AgentSandboxOptions = {}): AgentSandbox => {
    const sandbox = new AgentSandbox({ ...options, create: { ...connection, timeoutMs: 120_000, ...options.create } });
    made.push(sandbox);
    return sandbox;
  };
  afterAll(() => Promise.all(made.map((sandbox) => sandbox._destroy())));

  it("is what Mastra takes for a sandbox", () => {
    expectTypeOf<AgentSandbox>().toExtend<WorkspaceSandbox>();
    const sandbox = make();
    expect(sandbox).toMatchObject({ name: "AgentSandbox", provider: "agent-sandbox", status: "pending", supportsCheckpoints: true });
    expect(supportsNetworking(sandbox)).toBe(true);
  });

  describe("its life", () => {
    it("starts with the first command, once for all that come at a time", async () => {
      const starts: unknown[] = [];
      const sandbox = make({ onStart: ({ outcome }) => void starts.push(outcome) });
      expect(await sandbox.isReady()).toBe(false);
      const [one, two] = await Promise.all([sandbox.executeCommand("echo one"), sandbox.executeCommand("echo two"), sandbox._start()]);
      expect([one.stdout, two.stdout]).toEqual(["one\n", "two\n"]);
      expect(starts).toEqual(["created"]);
      expect(sandbox.status).toBe("running");
      expect(await sandbox.isReady()).toBe(true);
      expect(await sandbox.getInfo()).toMatchObject({
        ...{ id: sandbox.id, provider: "agent-sandbox", status: "running", timeoutAt: expect.any(Date), lastUsedAt: expect.any(Date) },
        resources: { memoryMB: expect.any(Number), cpuCores: expect.any(Number) },
        metadata: { sandboxId: sandbox.sandbox?.sandboxId, state: "running" },
      });
      await sandbox._destroy();
      expect(sandbox.status).toBe("destroyed");
      expect(await sandbox.isReady()).toBe(false);
      await expect(sandbox.executeCommand("true")).rejects.toThrow(/not ready/);
    });

    it("stop pauses it and its processes, and the next command wakes both", async () => {
      const sandbox = make();
      const service = await sandbox.processes.spawn("n=0; while sleep 0.05; do echo $((n += 1)) >>count; done");
      await sandbox.executeCommand("echo kept >file");
      const before = sandbox.sandbox?.sandboxId;
      await sandbox._stop();
      expect(sandbox.status).toBe("stopped");
      expect(await Sandbox.getInfo(before ?? "", connection)).toMatchObject({ state: "paused" });
      expect(await sandbox.isReady()).toBe(false);
      expect((await sandbox.executeCommand("cat file")).stdout).toBe("kept\n");
      expect(sandbox.sandbox?.sandboxId).toBe(before);
      expect((await sandbox.processes.list()).find(({ pid }) => pid === service.pid)).toMatchObject({ running: true });
      const lines = (await sandbox.executeCommand("wc -l <count")).stdout;
      await expect.poll(async () => (await sandbox.executeCommand("wc -l <count")).stdout, POLL).not.toBe(lines);
      const found = await sandbox.processes.get(service.pid);
      expect(await found?.kill()).toBe(true);
      expect(await found?.wait()).toMatchObject({ exitCode: 137, killed: true, success: false });
    });

    it("another program with the same id has the same sandbox, running or paused", async () => {
      const id = `conversation-${crypto.randomUUID()}`;
      const first = make({ id });
      expect(await first.start()).toEqual({ outcome: "created" });
      await first.executeCommand("echo kept >file");
      const running = make({ id });
      expect(await running.start()).toEqual({ outcome: "connected" });
      expect((await running.executeCommand("cat file")).stdout).toBe("kept\n");
      await first._stop();
      const paused = make({ id });
      expect(await paused.start()).toEqual({ outcome: "connected" });
      expect(paused.sandbox?.sandboxId).toBe(first.sandbox?.sandboxId);
      expect((await paused.executeCommand("cat file")).stdout).toBe("kept\n");
      const bySandboxId = make({ sandboxId: paused.sandbox?.sandboxId });
      expect((await bySandboxId.executeCommand("cat file")).stdout).toBe("kept\n");
    });

    it("one with an id is paused at the end of its life, and the next call wakes it", async () => {
      const sandbox = make({ id: `idle & "quoted" ü ${crypto.randomUUID()}`, create: { timeoutMs: 8_000 } });
      await sandbox.start();
      const before = sandbox.sandbox;
      await before?.files.write("file", "kept");
      await expect.poll(async () => (await before?.getInfo())?.state, { timeout: 30_000 }).toBe("paused");
      expect((await sandbox.executeCommand("cat file")).stdout).toBe("kept");
      expect(sandbox.sandbox).toBe(before);
      await before?.pause();
      expect((await sandbox.executeCommand("cat file")).stdout).toBe("kept");
    });

    it("programs that start under one id at the same time end in one sandbox", async () => {
      const id = `crowd-${crypto.randomUUID()}`;
      const crowd = Array.from({ length: 4 }, () => make({ id }));
      await Promise.all(crowd.map((sandbox) => sandbox.start()));
      expect(new Set(crowd.map(({ sandbox }) => sandbox?.sandboxId)).size).toBe(1);
      const listed = await Sandbox.list({ ...connection, query: { metadata: { "mastra-sandbox-id": id } } }).toArray();
      expect(listed).toHaveLength(1);
    });

    it("destroy also ends what an earlier run made", async () => {
      const id = `earlier-${crypto.randomUUID()}`;
      const first = make({ id });
      await first.start();
      await make({ id }).destroy();
      await expect(Sandbox.getInfo(first.sandbox?.sandboxId ?? "", connection)).rejects.toMatchObject({ reason: "sandbox_not_found" });
    });

    it("a sandbox that ended is an error once, and then a new one", async () => {
      const sandbox = make();
      await sandbox.executeCommand("echo lost >file");
      const before = sandbox.sandbox?.sandboxId;
      await Sandbox.kill(before ?? "", connection);
      await expect(sandbox.executeCommand("true")).rejects.toThrow();
      const { stdout, success } = await sandbox.executeCommand("ls");
      expect({ stdout, success }).toEqual({ stdout: "", success: true });
      expect(sandbox.sandbox?.sandboxId).not.toBe(before);
    });

    it("a sandbox id that is unknown is an error and makes none", async () => {
      const sandbox = make({ sandboxId: "i00000000000000000000" });
      await expect(sandbox.start()).rejects.toMatchObject({ reason: "sandbox_not_found" });
      expect(sandbox.status).toBe("error");
    });

    it("a sandbox that was given is neither paused nor killed", async () => {
      await using given = await Sandbox.create(connection);
      const sandbox = make({ sandbox: given });
      expect((await sandbox.executeCommand("echo hi")).stdout).toBe("hi\n");
      await sandbox._stop();
      expect(await given.isRunning()).toBe(true);
      expect((await sandbox.executeCommand("echo again")).stdout).toBe("again\n");
      await sandbox._destroy();
      expect(await given.isRunning()).toBe(true);
    });

    it("an abort ends a start with its reason, and a later start works", async () => {
      const sandbox = make();
      await expect(sandbox.start({ abortSignal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
      expect(sandbox.status).toBe("error");
      expect((await sandbox.executeCommand("echo hi")).stdout).toBe("hi\n");
    });

    it("hooks can use it, at the end too", async () => {
      const said: string[] = [];
      const say = (text: string) => async (args: { sandbox: WorkspaceSandbox }) => {
        said.push((await args.sandbox.executeCommand?.(`echo ${text}`))?.stdout ?? "");
      };
      const sandbox = make({ onStart: say("start"), onStop: say("stop"), onDestroy: say("destroy") });
      await sandbox._start();
      await sandbox._stop();
      await sandbox._start();
      await sandbox._destroy();
      expect(said).toEqual(["start\n", "stop\n", "start\n", "destroy\n"]);
    });

    it("a checkpoint is what the next sandbox begins from", async () => {
      const checkpointName = `checkpoint-${crypto.randomUUID().slice(0, 8)}`;
      const first = make({ checkpointName });
      await first.executeCommand("echo one >file");
      await first.snapshot();
      await first.executeCommand("echo two >file");
      await first.snapshot();
      expect(await Sandbox.listSnapshots({ ...connection, name: checkpointName }).toArray()).toHaveLength(1);
      const second = first.clone({ id: `clone-${checkpointName}`, env: { COLOUR: "blue" } });
      made.push(second);
      expect((await second.executeCommand('cat file; echo "$COLOUR"')).stdout).toBe("two\nblue\n");
      const seeded = make({ checkpointName: "never-written", seedCheckpointName: checkpointName });
      expect((await seeded.executeCommand("cat file")).stdout).toBe("two\n");
      expect(second.sandbox?.sandboxId).not.toBe(first.sandbox?.sandboxId);
    });
  });

  describe("commands", () => {
    let sandbox: AgentSandbox;
    beforeAll(async () => {
      sandbox = make({ workingDirectory: "/home/user/project", env: { FROM_OVERLAY: "1" } });
      await sandbox.start();
    });

    it("run in the working directory, which is made, with the variables of the sandbox and the call", async () => {
      const line = "pwd; echo $FROM_OVERLAY $FROM_CALL";
      const result = await sandbox.executeCommand(line, [], { env: { FROM_CALL: "2" } });
      expect(result).toMatchObject({ success: true, exitCode: 0, stderr: "", executionTimeMs: expect.any(Number), command: line });
      expect(result.stdout).toBe("/home/user/project\n1 2\n");
      sandbox.setEnv((env) => ({ ...env, FROM_OVERLAY: "changed" }));
      expect((await sandbox.executeCommand("echo $FROM_OVERLAY")).stdout).toBe("changed\n");
      await sandbox.executeCommand("mkdir -p deep/er");
      for (const [cwd, expected] of [
        ["deep/er", "/home/user/project/deep/er"],
        ["./deep", "/home/user/project/deep"],
        ["/tmp", "/tmp"],
        ["~", "/home/user"],
        [".", "/home/user/project"],
      ]) {
        expect((await sandbox.executeCommand("pwd", [], { cwd })).stdout).toBe(`${expected}\n`);
      }
    });

    it("pass arguments as they are", async () => {
      const args = ["a b", "it's", '"q"', "$HOME", "`id`", "", "-n", "two\nlines", "ünï ✓", "*", "\\", "; exit 3"];
      expect((await sandbox.executeCommand("printf '<%s>'", args)).stdout).toBe(args.map((arg) => `<${arg}>`).join(""));
    });

    it("stream what they print, with characters whole, and keep all of it", async () => {
      const pieces: string[] = [];
      const errors: string[] = [];
      const line = "printf 'h\\xc3'; sleep 0.1; printf '\\xa9llo'; echo bad >&2; exit 3";
      const onStdout = (text: string) => void pieces.push(text);
      const result = await sandbox.executeCommand(line, [], { onStdout, onStderr: (text) => void errors.push(text) });
      expect(result).toMatchObject({ success: false, exitCode: 3, stdout: "héllo", stderr: "bad\n", killed: false });
      expect([pieces.join(""), errors.join("")]).toEqual(["héllo", "bad\n"]);
      const long = await sandbox.executeCommand("seq 1 400000");
      expect(long.stdout.length).toBeGreaterThan(2_500_000);
      expect(long.stdout.endsWith("400000\n")).toBe(true);
      const yes = await sandbox.executeCommand("yes 0123456789abcde | head -c 20000000");
      expect(yes).toMatchObject({ stdoutTruncated: true, stdoutDroppedBytes: 20_000_000 - 16 * 1024 * 1024 });
      const bounded = await sandbox.executeCommand("seq 1 400000", [], { maxRetainedBytes: 1_000 });
      expect(bounded).toMatchObject({ stdoutTruncated: true, stdoutDroppedBytes: long.stdout.length - 1_000 });
      expect(bounded.stdout).toBe(long.stdout.slice(-1_000));
    });

    it("read end-of-file where they want input", async () => {
      expect(await sandbox.executeCommand("cat; echo done")).toMatchObject({ stdout: "done\n", exitCode: 0 });
    });

    it("end at their time limit, which the result says", async () => {
      const result = await sandbox.executeCommand("echo started; sleep 60", [], { timeout: 1_500 });
      expect(result).toMatchObject({ success: false, exitCode: 124, timedOut: true, killed: true, stdout: "started\n" });
      expect(result.stderr).toContain("killed after 1500 ms");
    });

    it("end with an abort, and what they started too", async () => {
      const controller = new AbortController();
      const onStdout = () => controller.abort();
      const result = await sandbox.executeCommand("echo started; sleep 8765 & wait", [], { abortSignal: controller.signal, onStdout });
      expect(result).toMatchObject({ success: false, killed: true, exitCode: 137, stdout: "started\n" });
      await expect.poll(async () => (await sandbox.executeCommand("pgrep -fc '[s]leep 8765'")).stdout, POLL).toBe("0\n");
      const late = sandbox.executeCommand("touch too-late", [], { abortSignal: AbortSignal.abort() });
      await expect(late).rejects.toMatchObject({ name: "SandboxAbortError", code: "ABORTED" });
      expect((await sandbox.executeCommand("ls too-late")).success).toBe(false);
    });

    it("that cannot start are errors of Mastra", async () => {
      const call = sandbox.executeCommand("true", [], { cwd: "/not/there" });
      await expect(call).rejects.toMatchObject({ name: "SandboxExecutionError", message: expect.stringContaining("/not/there") });
    });

    it("end when a listener fails, and the failure is told", async () => {
      const onStdout = () => {
        throw new Error("listener");
      };
      await expect(sandbox.executeCommand("echo x; sleep 8766", [], { onStdout })).rejects.toThrow("listener");
      await expect.poll(async () => (await sandbox.executeCommand("pgrep -fc '[s]leep 8766'")).stdout, POLL).toBe("0\n");
    });

    it("that are killed in the middle of the sandbox's life reject and do not hang", async () => {
      const doomed = make();
      const running = doomed.executeCommand("echo started; sleep 60", [], { onStdout: () => void doomed.sandbox?.kill() });
      await expect(running).rejects.toMatchObject({ reason: "sandbox_gone" });
      expect((await doomed.executeCommand("echo new")).stdout).toBe("new\n");
    });
  });

  it("writes files with their permissions, and takes an abort", async () => {
    const sandbox = make();
    await sandbox.writeFiles([
      { path: "bin/run it.sh", content: "#!/bin/sh\necho ran", mode: 0o700 },
      { path: "/tmp/bytes", content: Buffer.from([0, 255, 1]) },
    ]);
    expect((await sandbox.executeCommand("stat -c %a 'bin/run it.sh' && './bin/run it.sh' && od -An -tx1 /tmp/bytes")).stdout).toBe(
      "700\nran\n 00 ff 01\n",
    );
    await expect(sandbox.writeFiles([{ path: "x", content: "", mode: 0o4755 }])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const aborted = sandbox.writeFiles([{ path: "x", content: "" }], { abortSignal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("tells the URL of a port while it runs", async () => {
    const sandbox = make();
    expect(await sandbox.networking.getPortUrl(8765)).toBeNull();
    await sandbox.start();
    await sandbox.processes.spawn("exec python3 -m http.server 8765");
    const url = (await sandbox.networking.getPortUrl(8765)) ?? "";
    const host = new URL(url).host;
    expect(host).toMatch(/^8765-/);
    const { port } = new URL(url);
    const status = () =>
      fetch(`http://127.0.0.1:${port}/`, {
        headers: { "E2b-Sandbox-Id": sandbox.sandbox?.sandboxId ?? "", "E2b-Sandbox-Port": "8765" },
      }).then((response) => response.status);
    await expect.poll(status, POLL).toBe(200);
  });

  it("tells agents how it works, in the words of its user where there are some", async () => {
    const sandbox = make();
    expect(sandbox.getInstructions()).toContain("isolated Linux sandbox");
    await sandbox.start();
    expect(sandbox.getInstructions()).toContain("They start in /home/user.");
    expect(make({ instructions: "Mine." }).getInstructions()).toBe("Mine.");
    expect(make({ instructions: ({ defaultInstructions }) => `${defaultInstructions} More.` }).getInstructions()).toMatch(/not\. More\.$/);
  });
});
