import { RunContext } from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentSandboxClient } from "../../../src/agent/openai-agents/sandbox-client.js";
import type { AgentSandboxSession } from "../../../src/agent/openai-agents/sandbox-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 30_000 };
const STRANGE = ["-rf", "a b", "it's", 'a"b', "$(id)", "new\nline", "ünïcödé 🙂", "..hidden", "*"];

describeOnPlatform("a session of the OpenAI Agents SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const client = new AgentSandboxClient({ ...connection, timeoutMs: 120_000, envs: { SECRET: "of the client" } });
  let session: AgentSandboxSession;
  const sandbox = () => Sandbox.connect(session.state.sandboxId, connection);
  beforeAll(async () => {
    session = await client.create({
      manifest: {
        environment: { WHO: "manifest" },
        users: ["alice"],
        groups: [{ name: "crew", users: [{ name: "bob" }] }],
        extraPathGrants: [{ path: "/opt/data" }, { path: "/etc", readOnly: true }],
      },
    });
  });
  afterAll(() => session.close());

  describe("commands", () => {
    it("run in the workspace with the variables, and tell both streams and the exit code apart", async () => {
      const result = await session.exec({ cmd: "pwd; echo $WHO $SECRET; echo oops >&2; exit 3" });
      expect(result).toMatchObject({ stdout: "/workspace\nmanifest of the client\n", stderr: "oops\n", exitCode: 3 });
      expect(result.output).toContain("oops");
      expect(result.sessionId).toBeUndefined();
      expect(await session.execCommand({ cmd: "true" })).toMatch(
        /^Chunk ID: \w{6}\nWall time: [\d.]+ seconds\nProcess exited with code 0\nOutput:\n$/,
      );
    });

    it("take a directory, a shell, and a user", async () => {
      await session.exec({ cmd: "mkdir -p 'sub dir'" });
      expect((await session.exec({ cmd: "pwd", workdir: "sub dir" })).stdout).toBe("/workspace/sub dir\n");
      expect((await session.exec({ cmd: 'echo "$0" "it\'s"', shell: "/bin/sh" })).stdout).toBe("/bin/sh it's\n");
      expect((await session.exec({ cmd: "shopt -q login_shell || echo plain", login: false })).stdout).toBe("plain\n");
      expect((await session.exec({ cmd: "id -un; id -Gn", runAs: "bob" })).stdout).toMatch(/^bob\n.*\bcrew\b/);
      expect((await session.exec({ cmd: "id -un; pwd", runAs: "bob", tty: true })).stdout).toBe("bob\r\n/workspace\r\n");
      expect((await session.exec({ cmd: "true", shell: "no-such-shell" })).exitCode).toBe(127);
      await expect(session.exec({ cmd: "true", workdir: "../etc" })).rejects.toThrow(/escape/);
      await expect(session.exec({ cmd: "true", workdir: "not-there" })).rejects.toThrow(/not-there/);
      expect(await session.execCommand({ cmd: "true", workdir: "not-there" })).toMatch(
        /exited with code 1\nOutput:\nexec_command failed: .*not-there/,
      );
      expect(await session.execCommand({ cmd: "true", workdir: "/root" })).toMatch(/exec_command failed: .*escape/);
      expect(await session.execCommand({ cmd: "true", runAs: "nobody-here" })).toMatch(/exec_command failed: .*nobody-here/);
      expect(await session.execCommand({ cmd: `: ${"x".repeat(200_000)}` })).toMatch(/exec_command failed: .*size limit/);
    });

    it("that take long go on, read what is typed, and end", async () => {
      const started = await session.exec({ cmd: 'echo ready; read a; echo "got $a"; read b; echo "then $b"', yieldTimeMs: 0 });
      const sessionId = started.sessionId ?? 0;
      expect(started.exitCode).toBeUndefined();
      let seen = started.stdout;
      const poll = async (chars = "") => {
        seen += await session.writeStdin({ sessionId, chars, yieldTimeMs: 0 });
        return seen;
      };
      await poll("one\n");
      await expect.poll(() => poll(), POLL).toContain("got one");
      const last = await session.writeStdin({ sessionId, chars: "two\n", yieldTimeMs: 60_000 });
      expect(last).toMatch(/Process exited with code 0[\s\S]*then two/);
      expect(await session.writeStdin({ sessionId })).toContain(`session not found: ${sessionId}`);
    });

    it("are interrupted by Ctrl-C, with a terminal and without", async () => {
      for (const tty of [true, false]) {
        const { sessionId = 0, output } = await session.exec({ cmd: "echo up; exec sleep 987", tty, yieldTimeMs: 0 });
        let seen = output;
        const look = async () => (seen += await session.writeStdin({ sessionId, yieldTimeMs: 0 }));
        await expect.poll(look, POLL).toContain("up");
        expect(await session.writeStdin({ sessionId, chars: "\u0003", yieldTimeMs: 60_000 })).toContain("exited with code 130");
      }
    });

    it("that were killed have the exit code of a shell", async () => {
      expect((await session.exec({ cmd: "kill -9 $$" })).exitCode).toBe(137);
    });

    it("with much output keep its end, and are held to a number of tokens", async () => {
      const all = await session.exec({ cmd: "seq 1 400000", yieldTimeMs: 60_000 });
      expect(all.stdout.length).toBeLessThan(1024 * 1024 + 100);
      expect(all.stdout).toMatch(/^\[\.\.\.\d+ characters truncated from process output\.\.\.\]\n/);
      expect(all.stdout.endsWith("399999\n400000\n")).toBe(true);
      const few = await session.exec({ cmd: "seq 1 10000", maxOutputTokens: 50 });
      expect(few.output.length).toBeLessThan(300);
      expect(few.output).toMatch(/^1\n2\n[\s\S]*left out[\s\S]*10000\n$/);
      expect(few.originalTokenCount).toBe(12_224);
      expect(await session.execCommand({ cmd: "printf '🙂%.0s' $(seq 1000)", maxOutputTokens: 20 })).not.toContain("\ufffd");
    });

    it("decode characters that come in pieces", async () => {
      expect((await session.exec({ cmd: "printf '\\xf0\\x9f'; sleep 0.3; printf '\\x99\\x82'" })).stdout).toBe("🙂");
      expect((await session.exec({ cmd: "printf '\\xf0\\x9f'; sleep 0.3; printf '\\x99\\x82'", tty: true })).stdout).toBe("🙂");
    });

    it("run beside each other", async () => {
      const results = await Promise.all(Array.from({ length: 10 }, (_, n) => session.exec({ cmd: `echo ${n}` })));
      expect(results.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 10 }, (_, n) => `${n}\n`));
    });

    it("are killed when the session stops, which goes on afterwards", async () => {
      const { sessionId = 0 } = await session.exec({ cmd: "exec sleep 654", yieldTimeMs: 0 });
      await session.stop();
      expect((await session.exec({ cmd: "pgrep -fc '[s]leep 654'" })).stdout).toBe("0\n");
      expect(await session.writeStdin({ sessionId })).toContain("session not found");
    });
  });

  describe.each([undefined, "alice"])("files as the user %s", (runAs) => {
    const context = { runContext: new RunContext() };
    const dir = `files-${runAs ?? "default"}`;
    beforeAll(async () => {
      await session.materializeEntry({ path: dir, entry: { type: "dir" }, runAs });
    });

    it.each(STRANGE)("with the name %j are made, read, listed, changed, moved and deleted", async (name) => {
      const editor = session.createEditor(runAs);
      const path = `${dir}/${name}`;
      await editor.createFile({ type: "create_file", path, diff: "+Grüße 🙂\n+second\n" }, context);
      expect(await session.pathExists(path, runAs)).toBe(true);
      expect(new TextDecoder().decode(await session.readFile({ path, runAs }))).toBe("Grüße 🙂\nsecond");
      expect(new TextDecoder().decode(await session.readFile({ path, runAs, maxBytes: 3 }))).toBe("Gr\ufffd");
      expect(await session.listDir({ path: dir, runAs })).toContainEqual({ name, path, type: "file" });
      await editor.updateFile({ type: "update_file", path, diff: "@@\n Grüße 🙂\n-second\n+2nd\n", moveTo: `${path}.moved/x` }, context);
      expect(await session.pathExists(path, runAs)).toBe(false);
      expect(new TextDecoder().decode(await session.readFile({ path: `${path}.moved/x`, runAs }))).toBe("Grüße 🙂\n2nd");
      await editor.deleteFile({ type: "delete_file", path: `${path}.moved/x` }, context);
      expect(await session.listDir({ path: `${path}.moved`, runAs })).toEqual([]);
      expect(await session.directoryExists(`${path}.moved`, runAs)).toBe(true);
    });

    it("are not found, of the wrong kind, or outside, and the message says which", async () => {
      const editor = session.createEditor(runAs);
      const none = { path: `${dir}/none`, runAs };
      await expect(session.readFile(none)).rejects.toMatchObject({ code: "workspace_read_not_found" });
      await expect(session.listDir(none)).rejects.toMatchObject({ code: "workspace_read_not_found" });
      await expect(session.viewImage(none)).rejects.toThrow(/not found/);
      expect(await session.pathExists(`${dir}/none`, runAs)).toBe(false);
      expect(await session.directoryExists(`${dir}/none`, runAs)).toBe(false);
      await expect(session.readFile({ path: dir, runAs })).rejects.toThrow(/directory|not a file/);
      await expect(session.viewImage({ path: dir, runAs })).rejects.toThrow(/not a file/);
      await editor.createFile({ type: "create_file", path: `${dir}/t.txt`, diff: "+a\n" }, context);
      await expect(session.viewImage({ path: `${dir}/t.txt`, runAs })).rejects.toThrow(/Unsupported image format/);
      await expect(session.listDir({ path: `${dir}/t.txt`, runAs })).rejects.toThrow(/not a directory/);
      await expect(editor.createFile({ type: "create_file", path: `${dir}/t.txt`, diff: "+b\n" })).rejects.toThrow(/exists already/);
      await expect(editor.updateFile({ type: "update_file", path: `${dir}/t.txt`, diff: "@@\n-zz\n+y\n" })).rejects.toMatchObject({
        code: "apply_patch_invalid_diff",
      });
      await expect(editor.deleteFile({ type: "delete_file", path: dir })).rejects.toThrow(/not a file/);
      for (const path of ["/root/x", "../x", "a/../../x"]) {
        await expect(session.readFile({ path, runAs })).rejects.toThrow(/escape/);
        await expect(editor.createFile({ type: "create_file", path, diff: "+a\n" })).rejects.toThrow(/escape/);
      }
      await expect(editor.createFile({ type: "create_file", path: "/etc/x", diff: "+a\n" })).rejects.toThrow(/read-only/);
      expect(new TextDecoder().decode(await session.readFile({ path: "/etc/passwd", runAs }))).toContain("root:");
    });

    it("that are binary come as they are, and cannot be patched", async () => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 251);
      await session.materializeEntry({ path: `${dir}/bin`, entry: { type: "file", content: bytes }, runAs });
      expect(Buffer.from(await session.readFile({ path: `${dir}/bin`, runAs })).equals(bytes)).toBe(true);
      const editor = session.createEditor(runAs);
      await expect(editor.updateFile({ type: "update_file", path: `${dir}/bin`, diff: "@@\n-a\n+b\n" })).rejects.toMatchObject({
        code: "apply_patch_decode_error",
      });
    });

    it("keep their permission bits through a patch", async () => {
      const permissions = "-rwxr-x---";
      await session.materializeEntry({ path: `${dir}/run.sh`, entry: { type: "file", content: "echo a\n", permissions }, runAs });
      const editor = session.createEditor(runAs);
      await editor.updateFile({ type: "update_file", path: `${dir}/run.sh`, diff: "@@\n-echo a\n+echo b\n" });
      expect((await session.exec({ cmd: `stat -c %A ${dir}/run.sh; ./${dir}/run.sh`, runAs })).stdout).toBe(`${permissions}\nb\n`);
    });
  });

  it("files are out of reach behind links that lead out of the workspace", async () => {
    await session.exec({
      cmd: "mkdir -p real; echo in > real/in; ln -s real good; ln -s /tmp bad; ln -s /tmp/target badfile; ln -s nowhere dangling",
    });
    await session.exec({ cmd: "echo out > /tmp/out; ln -s /etc granted" });
    const editor = session.createEditor();
    expect(new TextDecoder().decode(await session.readFile({ path: "good/in" }))).toBe("in\n");
    expect(new TextDecoder().decode(await session.readFile({ path: "granted/passwd" }))).toContain("root:");
    const outside = { code: "path_resolution_error" };
    await expect(session.readFile({ path: "bad/out" })).rejects.toMatchObject(outside);
    await expect(session.listDir({ path: "bad" })).rejects.toMatchObject(outside);
    await expect(session.viewImage({ path: "bad/out" })).rejects.toMatchObject(outside);
    await expect(session.pathExists("bad/deep/none")).rejects.toMatchObject(outside);
    for (const path of ["bad/new", "bad/new dir/new", "badfile", "granted/new"]) {
      await expect(editor.createFile({ type: "create_file", path, diff: "+x\n" }), path).rejects.toMatchObject(outside);
    }
    await expect(editor.updateFile({ type: "update_file", path: "good/in", diff: "", moveTo: "bad/in" })).rejects.toMatchObject(outside);
    await editor.deleteFile({ type: "delete_file", path: "badfile" });
    await editor.deleteFile({ type: "delete_file", path: "dangling" });
    expect((await session.exec({ cmd: "ls -d /tmp/target /tmp/new* bad* dangling real/in 2>/dev/null" })).stdout).toBe("bad\nreal/in\n");
  });

  it("with a user files are out of reach that this user may not touch", async () => {
    await session.exec({ cmd: "echo private > p.txt; chmod 600 p.txt; mkdir -m 700 closed; echo x > closed/x" });
    await expect(session.readFile({ path: "p.txt", runAs: "alice" })).rejects.toThrow(/alice cannot read[\s\S]*Permission denied/);
    await session.exec({ cmd: "sudo sh -c 'echo top > root.txt; chmod 600 root.txt'" });
    await expect(session.readFile({ path: "root.txt" })).rejects.toThrow(/the user cannot read[\s\S]*Permission denied/);
    const editor = session.createEditor("alice");
    await expect(editor.createFile({ type: "create_file", path: "new.txt", diff: "+a\n" })).rejects.toThrow(/alice cannot write/);
    await expect(editor.deleteFile({ type: "delete_file", path: "p.txt" })).rejects.toThrow(/alice cannot remove/);
    expect(await session.directoryExists("closed", "alice")).toBe(false);
    expect(new TextDecoder().decode(await session.readFile({ path: "p.txt" }))).toBe("private\n");
  });

  it("give the address of a port, and only of those that are exposed", async () => {
    const { sessionId = 0 } = await session.exec({ cmd: "echo hello > index.html; exec python3 -m http.server 8123", yieldTimeMs: 0 });
    const endpoint = await session.resolveExposedPort(8123);
    expect(endpoint).toMatchObject({ host: `8123-${session.state.sandboxId}.localhost`, tls: false, port: Number(new URL(apiUrl).port) });
    expect(session.state.exposedPorts?.["8123"]).toEqual(endpoint);
    const get = () =>
      fetch(`${sandboxUrl}/index.html`, { headers: { "e2b-sandbox-id": session.state.sandboxId, "e2b-sandbox-port": "8123" } }).then(
        (response) => response.text(),
        String,
      );
    await expect.poll(get, POLL).toBe("hello\n");
    await session.writeStdin({ sessionId, chars: "\u0003" });
    await expect(session.resolveExposedPort(0)).rejects.toThrow(/between 1 and 65535/);
    const strict = await new AgentSandboxClient({ ...connection, exposedPorts: [80] }).resume({ ...session.state });
    await expect(strict.resolveExposedPort(81)).rejects.toThrow(/not among exposedPorts/);
  });

  it("tell that the sandbox was killed in the middle of a command, and do not wait", async () => {
    const victim = await client.create();
    const running = victim.exec({ cmd: "sleep 600", yieldTimeMs: 600_000 });
    const outcome = expect(running).rejects.toMatchObject({ name: expect.stringMatching(/Error$/) as string });
    const machine = await Sandbox.connect(victim.state.sandboxId, connection);
    await expect.poll(async () => (await machine.commands.list()).length, POLL).toBe(1);
    await machine.kill();
    await outcome;
    expect(await victim.running()).toBe(false);
    expect(await victim.execCommand({ cmd: "true" })).toMatch(/exited with code 1[\s\S]*has ended, and what was written/);
    await expect(victim.readFile({ path: "x" })).rejects.toMatchObject({ code: "lifecycle_error" });
    await expect(victim.start()).rejects.toMatchObject({ code: "snapshot_not_restorable" });
    await victim.close();
    await expect(victim.exec({ cmd: "true" })).rejects.toThrow(/session has ended/);
  });

  it("run what is to happen before the end once, and end though it fails", async () => {
    const ended = await client.create();
    const ran: string[] = [];
    const remove = ended.registerPreStopHook(() => void ran.push("removed"));
    ended.registerPreStopHook(async () => {
      ran.push((await ended.exec({ cmd: "echo still here" })).stdout);
      throw new Error("a hook failed");
    });
    remove();
    await expect(ended.close()).rejects.toThrow("a hook failed");
    await ended.close();
    expect(ran).toEqual(["still here\n"]);
    await expect(Sandbox.getInfo(ended.state.sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("is woken where it was paused", async () => {
    await (await sandbox()).pause();
    expect((await session.exec({ cmd: "echo awake" })).stdout).toBe("awake\n");
    await (await sandbox()).pause();
    expect(await session.running()).toBe(false);
    await session.start();
    expect((await session.exec({ cmd: "echo awake" })).stdout).toBe("awake\n");
  });
});
