import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxBackend, type OwnedSandboxBackend, toSandboxBackend } from "../../../src/agent/langchain/open-backend.js";
import { ThreadBackends } from "../../../src/agent/langchain/thread-backends.js";
import { SandboxSession } from "../../../src/agent/sandbox-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("commands and life of a backend for deepagents", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const create = { ...connection, timeoutMs: 120_000 };
  let backend: OwnedSandboxBackend;
  beforeAll(() => {
    backend = createSandboxBackend({ create, maxOutputBytes: 1_000 });
  });
  afterAll(() => backend.close());

  it("execute: both streams in their order, and the exit code", async () => {
    expect(await backend.execute("echo one; echo two >&2; echo three; exit 42")).toEqual({
      output: "one\ntwo\nthree\n",
      exitCode: 42,
      truncated: false,
    });
    expect(await backend.execute("pwd")).toEqual({ output: "/home/user\n", exitCode: 0, truncated: false });
    expect(await backend.execute("true")).toEqual({ output: "", exitCode: 0, truncated: false });
    expect(await backend.execute("")).toEqual({ output: "", exitCode: 0, truncated: false });
    expect(await backend.execute("no_such_command")).toMatchObject({ exitCode: 127, output: expect.stringMatching(/line 1: .*not found/) });
    expect(await backend.execute("echo 'open")).toMatchObject({ exitCode: 2, output: expect.stringContaining("unexpected EOF") });
    expect(await backend.execute("cat <<'END'\n$x `y`\nEND\necho 🌍")).toMatchObject({ output: "$x `y`\n🌍\n" });
  });

  it("execute: long output is cut in the middle and says so, and characters stay whole", async () => {
    const { output, truncated, exitCode } = await backend.execute("yes 🌍 | head -n 100000");
    expect({ truncated, exitCode }).toEqual({ truncated: true, exitCode: 0 });
    expect(output).toMatch(/^(🌍\n)+🌍?\n\[\.\.\. \d+ bytes left out \.\.\.\]\n\n?(🌍\n)+$/u);
    expect(output.length).toBeLessThan(1_100);
  });

  it("execute: signals and deadlines have the exit codes of a shell, with what was printed before", async () => {
    expect(await backend.execute("echo before; kill -9 $$")).toEqual({
      output: "before\n[The command was ended by SIGKILL.]",
      exitCode: 137,
      truncated: false,
    });
    await using hasty = createSandboxBackend({ create, timeoutMs: 3_000, maxOutputBytes: 100 });
    const { output, exitCode, truncated } = await hasty.execute("seq 1 1000; sleep 600");
    expect({ exitCode, truncated }).toEqual({ exitCode: 124, truncated: true });
    expect(output).toMatch(/^1\n2\n[\s\S]*\n1000\n\[The command was killed after 3000 ms\. .* &\]$/);
    expect(() => createSandboxBackend({ timeoutMs: 0 })).toThrow(/timeoutMs must be .* at least 1/);
  });

  it("execute: a command that cannot be run says why and has no exit code", async () => {
    expect(await backend.execute("echo a\0b")).toEqual({
      output: expect.stringMatching(/^execute failed: .*NUL/),
      exitCode: null,
      truncated: false,
    });
  });

  it("works as the user that was asked for", async () => {
    await using root = createSandboxBackend({ create, user: "root" });
    expect((await root.execute("id -un; pwd")).output).toBe("root\n/root\n");
    await root.write("relative.txt", "text");
    expect((await root.ls("/root")).files?.map(({ path }) => path)).toContain("/root/relative.txt");
    expect((await root.grep("text", "/root")).matches).toHaveLength(1);
  });

  it("makes its sandbox at the first use and once, keeps its id, and kills the sandbox at the end", async () => {
    const own = createSandboxBackend({ create });
    const { id } = own;
    expect(id).toMatch(/^agent-sandbox-.+/);
    expect(own.sandboxId).toBeUndefined();
    await Promise.all([own.write("/tmp/a", "a"), own.execute("true"), own.ls("/")]);
    const sandboxId = own.sandboxId ?? "";
    expect(own.id).toBe(id);
    expect((await Sandbox.getInfo(sandboxId, connection)).state).toBe("running");
    await own.close();
    await expect(Sandbox.getInfo(sandboxId, connection)).rejects.toMatchObject({ reason: "sandbox_not_found" });
    expect((await own.read("/tmp/a")).error).toBe("read failed: the session has ended.");
    expect(await own.execute("true")).toMatchObject({ exitCode: null, output: expect.stringContaining("has ended") });
    await expect(own.downloadFiles(["/tmp/a"])).rejects.toThrow("has ended");
    await own.close();
  });

  it("a sandbox that ends in the middle is told, and the next call starts in a new one", async () => {
    await using own = createSandboxBackend({ create });
    await own.write("/tmp/a", "a");
    const running = own.execute("sleep 600");
    await expect.poll(async () => (await own.execute("pgrep -c sleep")).output.trim()).toBe("1");
    await Sandbox.kill(own.sandboxId ?? "", connection);
    expect(await running).toMatchObject({ exitCode: null, output: expect.stringMatching(/ended and its files are gone/) });
    expect((await own.read("/tmp/a")).error).toMatch(/not found|ended and its files are gone/);
    expect(await own.execute("echo new")).toMatchObject({ output: "new\n", exitCode: 0 });
  });

  it("borrows a sandbox or a session, and ends neither", async () => {
    await using sandbox = await Sandbox.create(create);
    const borrowed = toSandboxBackend(sandbox);
    expect(borrowed.id).toBe(sandbox.sandboxId);
    expect(Symbol.asyncDispose in borrowed).toBe(false);
    await borrowed.write("/tmp/shared.txt", "shared");
    expect(await sandbox.files.read("/tmp/shared.txt")).toBe("shared");
    await using session = new SandboxSession({ sandbox });
    expect((await toSandboxBackend(session).read("/tmp/shared.txt")).content).toBe("shared");
    expect(await sandbox.isRunning()).toBe(true);
  });

  it("conversations have backends of their own, which end one by one or all", async () => {
    const backends = new ThreadBackends({ create });
    const [one, two] = ["1", "2"].map((thread_id) => backends.factory({ configurable: { thread_id } }));
    expect(backends.factory({ config: { configurable: { thread_id: "1" } } })).toBe(one);
    expect(two).not.toBe(one);
    await one?.write("/tmp/secret", "of one");
    expect((await two?.read("/tmp/secret"))?.error).toContain("not found");
    expect(() => backends.factory({})).toThrow(/no thread_id/);
    const ids = [one?.sandboxId ?? "", two?.sandboxId ?? ""];
    await backends.close("1");
    await expect(Sandbox.getInfo(ids[0] ?? "", connection)).rejects.toMatchObject({ reason: "sandbox_not_found" });
    expect((await two?.execute("echo on"))?.output).toBe("on\n");
    await backends.close();
    await expect(Sandbox.getInfo(ids[1] ?? "", connection)).rejects.toMatchObject({ reason: "sandbox_not_found" });
    expect(() => backends.get("3")).toThrow("closed");
  });
});
