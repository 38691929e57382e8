import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { LocalSandbox, type MastraSandbox } from "@mastra/core/workspace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 15_000 };

interface Kind {
  readonly sandbox: MastraSandbox;
  readonly directory: string;
  readonly end: () => Promise<unknown>;
}

/** Promises of Mastra's sandboxes, kept by its own local one and by ours. */
describeOnPlatform("a sandbox of Mastra", ({ apiUrl, sandboxUrl, apiKey }) => {
  const started: unknown[] = [];
  const common = { env: { OVERLAY: "from overlay" }, onStart: ({ outcome }: { outcome?: string }) => void started.push(outcome) };
  const kinds: Record<string, () => Promise<Kind>> = {
    "of Mastra itself": async () => {
      const root = await mkdtemp(path.join(tmpdir(), "mastra-"));
      const directory = path.join(root, "work");
      return { sandbox: new LocalSandbox({ ...common, workingDirectory: directory }), directory, end: () => rm(root, { recursive: true }) };
    },
    "of ours": async () => {
      const directory = "/home/user/work";
      const create = { apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 };
      return { sandbox: new AgentSandbox({ ...common, create, workingDirectory: directory }), directory, end: async () => {} };
    },
  };

  describe.each(Object.keys(kinds))("%s", (name) => {
    let kind: Kind;
    let sandbox: MastraSandbox;
    const run: NonNullable<MastraSandbox["executeCommand"]> = (...args) => {
      if (sandbox.executeCommand === undefined) throw new TypeError("there is no executeCommand");
      return sandbox.executeCommand(...args);
    };
    const processes = () => {
      if (sandbox.processes === undefined) throw new TypeError("there are no processes");
      return sandbox.processes;
    };
    beforeAll(async () => {
      kind = await (kinds[name] as () => Promise<Kind>)();
      sandbox = kind.sandbox;
      started.length = 0;
    });
    afterAll(async () => {
      await sandbox._destroy();
      await kind.end();
    });

    it("starts once, with its first command", async () => {
      expect(sandbox.status).toBe("pending");
      const results = await Promise.all([run("echo a"), run("echo b"), sandbox._start(), sandbox.ensureRunning()]);
      expect([results[0].stdout, results[1].stdout]).toEqual(["a\n", "b\n"]);
      expect(sandbox.status).toBe("running");
      if (name === "of ours") expect(started).toEqual(["created"]);
      else expect(started).toHaveLength(1);
    });

    it("runs commands and tells how they ended", async () => {
      const ended = await run("echo out; echo err >&2; exit 7");
      expect(ended).toMatchObject({ success: false, exitCode: 7, stdout: "out\n", stderr: "err\n", executionTimeMs: expect.any(Number) });
      expect(await run("true")).toMatchObject({ success: true, exitCode: 0, stdout: "", stderr: "" });
      expect((await run("printf '[%s]'", ["a b", "it's", "$HOME", "", "*"])).stdout).toBe("[a b][it's][$HOME][][*]");
      expect((await run("echo 'seen' | tr a-z A-Z && echo $((6 * 7))")).stdout).toBe("SEEN\n42\n");
      expect(await run("not-a-command")).toMatchObject({ success: false, exitCode: 127 });
    });

    it("has a working directory and variables, over which those of a call win", async () => {
      expect(sandbox.workingDirectory).toBe(kind.directory);
      expect((await run("pwd")).stdout).toBe(`${kind.directory}\n`);
      expect((await run("pwd", [], { cwd: "/" })).stdout).toBe("/\n");
      await run("mkdir -p below");
      expect((await run("pwd", [], { cwd: "below" })).stdout).toBe(`${kind.directory}/below\n`);
      expect((await run('echo "$OVERLAY"')).stdout).toBe("from overlay\n");
      expect((await run('echo "$OVERLAY"', [], { env: { OVERLAY: "from call" } })).stdout).toBe("from call\n");
      sandbox.setEnv((env) => ({ ...env, SET: "later" }));
      expect((await run('echo "[$SET]"')).stdout).toBe("[later]\n");
      sandbox.setEnv(({ SET: _, ...rest }) => rest);
      expect((await run('echo "[$SET]"')).stdout).toBe("[]\n");
    });

    it("streams, bounds what is kept, and gives no input", async () => {
      const seen: string[] = [];
      const result = await run("seq 1 1000; cat", [], { onStdout: (data) => void seen.push(data), maxRetainedBytes: 10 });
      expect(seen.join("")).toHaveLength(3_893);
      expect(result).toMatchObject({ stdout: "8\n999\n1000\n".slice(-10), stdoutTruncated: true, stdoutDroppedBytes: 3_883, exitCode: 0 });
      await expect(run("true", [], { maxRetainedBytes: 1.5 })).rejects.toThrow(RangeError);
    });

    it("ends a command at its time limit and at an abort", async () => {
      const late = await run("echo begun; sleep 60", [], { timeout: 2_000 });
      expect(late).toMatchObject({ success: false, exitCode: 124, timedOut: true, stdout: "begun\n" });
      expect(late.stderr).toMatch(/2000 ?ms/);
      const controller = new AbortController();
      const aborted = await run("echo begun; sleep 60", [], { abortSignal: controller.signal, onStdout: () => controller.abort() });
      expect(aborted).toMatchObject({ success: false, killed: true, stdout: "begun\n" });
      expect(aborted.exitCode).toBeGreaterThanOrEqual(128);
    });

    it("has processes that are fed, found, listed, read and killed", async () => {
      const echo = await processes().spawn("while read line; do echo got $line; done");
      await echo.sendStdin("one\n");
      await expect.poll(() => echo.stdout, POLL).toBe("got one\n");
      expect(await processes().get(echo.pid)).toBe(echo);
      expect(await processes().list()).toContainEqual(expect.objectContaining({ pid: echo.pid, running: true }));
      await echo.closeStdin();
      expect(await echo.wait()).toMatchObject({ success: true, exitCode: 0, stdout: "got one\n" });
      await expect(echo.sendStdin("late")).rejects.toThrow();
      expect(await echo.kill()).toBe(false);

      const upper = await processes().spawn("tr a-z A-Z");
      const all = text(upper.reader);
      upper.writer.end("piped");
      expect(await all).toBe("PIPED");

      const sleeper = await processes().spawn("sleep 60", { stdinMode: "ignore" });
      await expect(sleeper.sendStdin("x")).rejects.toThrow();
      expect(await processes().kill(sleeper.pid)).toBe(true);
      expect(await sleeper.wait()).toMatchObject({ success: false, killed: true });
      expect(await processes().get(sleeper.pid)).toBeUndefined();
      expect(await processes().kill(sleeper.pid)).toBe(false);
    });

    it("stops, starts again with its files, and is destroyed for good", async () => {
      await run("echo kept >file");
      await sandbox._stop();
      expect(sandbox.status).toBe("stopped");
      expect((await run("cat file")).stdout).toBe("kept\n");
      expect(sandbox.status).toBe("running");
      await sandbox._destroy();
      expect(sandbox.status).toBe("destroyed");
      await expect(run("true")).rejects.toMatchObject({ name: "SandboxNotReadyError" });
      await expect(sandbox._start()).rejects.toThrow(/destroyed/);
    });
  });
});
