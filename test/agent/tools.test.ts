import { afterAll, beforeAll, expect, it } from "vitest";
import { SandboxSession } from "../../src/agent/sandbox-session.js";
import { createTools } from "../../src/agent/sandbox-toolset.js";
import { findTool, type Tool, type ToolResult } from "../../src/agent/tool.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { PNG } from "../support/pixel.js";
import { describeOnPlatform } from "../support/platform.js";

const POLL = { timeout: 15_000 };

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("\n");

describeOnPlatform("tools for models", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  let session: SandboxSession;
  let tools: Tool[];
  const call = (name: string, input?: unknown, options = {}) => findTool(tools, name).execute(input, options);
  beforeAll(() => {
    session = new SandboxSession({ create: { ...connection, timeoutMs: 120_000 } });
    tools = createTools(session, { maxTextLength: 2_000 });
  });
  afterAll(() => session.close());

  it("run code of each language in the home directory, and tell how it ended", async () => {
    await call("write_file", { path: "helper.py", content: "def twice(n): return 2 * n" });
    const python = await call("run_code", { code: "import os, helper; print(helper.twice(21), os.getcwd())" });
    expect(python).toEqual({ content: [{ type: "text", text: "exit code: 0\nstdout:\n42 /home/user" }], isError: false });
    expect(textOf(await call("run_code", { code: "console.log([1, 2].map((n) => n * 2))", language: "javascript" }))).toContain("[ 2, 4 ]");
    expect(textOf(await call("run_code", { code: "const n: number = 3; console.log(n)", language: "typescript" }))).toContain("3");
    expect(textOf(await call("run_code", { code: "echo $((6 * 7))", language: "bash" }))).toContain("42");
    const failed = await call("run_code", { code: "print('before')\nraise ValueError('no')" });
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/^exit code: 1\nstdout:\nbefore\nstderr:\nTraceback[\s\S]*ValueError: no$/);
    expect(textOf(await call("list_files"))).not.toContain(".run-");
  });

  it("keep beginning and end of long output, and what was printed before the time was over", async () => {
    const long = textOf(await call("run_command", { command: "seq 1 100000" }));
    expect(long.length).toBeLessThan(2_400);
    expect(long).toMatch(/stdout:\n1\n2\n[\s\S]*left out[\s\S]*99999\n100000$/);
    const slow = await call("run_command", { command: "echo started; sleep 60", timeout_ms: 3_000 });
    expect(slow.isError).toBe(true);
    expect(textOf(slow)).toMatch(/killed after 3000 ms[\s\S]*timeout_ms[\s\S]*stdout:\nstarted/);
    expect(textOf(await call("run_command", { command: "true" }))).toBe("exit code: 0\nIt printed nothing.");
    expect(textOf(await call("run_command", { command: "kill -9 $$" }))).toContain("SIGKILL");
  });

  it("an abort rejects with its reason and ends the command", async () => {
    const controller = new AbortController();
    const onProgress = (message: string) => void (message === "started" && controller.abort(new Error("enough")));
    const running = call("run_command", { command: "echo started; sleep 987" }, { signal: controller.signal, onProgress });
    await expect(running).rejects.toThrow("enough");
    await expect
      .poll(async () => textOf(await call("run_command", { command: "pgrep -fc '[s]leep 987' || true" })))
      .toContain("stdout:\n0");
  });

  it("edits and writes of one file that are called at the same time all count, however its path is written", async () => {
    const words = ["one", "two", "three", "four", "five", "six"];
    await call("write_file", { path: "together/list.txt", content: words.join("\n") });
    const paths = ["together/list.txt", "./together/list.txt", "/home/user/together/list.txt"];
    const edits = words.map((word, index) =>
      call("edit_file", { path: paths[index % paths.length], old_text: word, new_text: word.toUpperCase() }),
    );
    expect((await Promise.all(edits)).map(textOf)).toEqual(words.map((_, index) => expect.stringContaining(`line ${index + 1}`) as string));
    expect(textOf(await call("read_file", { path: "together/list.txt" }))).toBe(words.join("\n").toUpperCase());
    const refused = call("edit_file", { path: "together/list.txt", old_text: "nothing", new_text: "x" });
    const after = call("edit_file", { path: "together/list.txt", old_text: "ONE", new_text: "1" });
    expect([(await refused).isError, (await after).isError]).toEqual([true, false]);
    const abort = new AbortController();
    const aborted = call("edit_file", { path: "together/list.txt", old_text: "TWO", new_text: "2" }, { signal: abort.signal });
    const last = call("edit_file", { path: "together/list.txt", old_text: "SIX", new_text: "6" });
    abort.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    expect((await last).isError).toBe(false);
    expect(textOf(await call("read_file", { path: "together/list.txt" }))).toMatch(/^1\n[\s\S]*\n6$/);
  });

  it("search from the root directory, however it is named, without what the kernel shows there", async () => {
    // Of this process itself, /proc has the word of its command line, and a device gives bytes without end.
    const needle = `needle-${crypto.randomUUID()}`;
    await call("run_command", { command: `echo ${needle} > ~/found.txt; ln -sfn / ~/top` });
    for (const path of ["/", "//", "/./", "/usr/..", "top"]) {
      const found = await call("search_files", { pattern: needle, path });
      expect([path, textOf(found)]).toEqual([path, `/home/user/found.txt:1:${needle}`]);
    }
  });

  it("start services, list them, and give the URL of their port", async () => {
    const before = textOf(await call("get_port_url", { port: 8765 }));
    expect(before).toMatch(/^http:\/\/8765-\S+\nNothing listens on port 8765 yet\.$/);
    const started = textOf(await call("run_command", { command: "echo up; exec python3 -m http.server 8765", background: true }));
    const [, pid, log] = /process (\d+)\. Its output goes to (\S+)\./.exec(started) ?? [];
    expect(textOf(await call("list_processes"))).toContain(`${pid}\techo up; exec python3 -m http.server 8765`);
    await expect.poll(async () => textOf(await call("get_port_url", { port: 8765 })), POLL).toMatch(/^http:\S+$/);
    expect(textOf(await call("read_file", { path: log }))).toContain("up");
    await call("run_command", { command: `kill ${pid}` });
    await expect.poll(async () => textOf(await call("list_processes")), POLL).toBe("No command runs.");
  });

  it("write, read in parts, edit, list and search files", async () => {
    const lines = Array.from({ length: 50 }, (_, n) => `line ${n + 1}`);
    expect(textOf(await call("write_file", { path: "notes/a.txt", content: `${lines.join("\n")}\n` }))).toBe(
      "Wrote 391 bytes to /home/user/notes/a.txt.",
    );
    expect(textOf(await call("read_file", { path: "notes/a.txt", offset: 2, limit: 2 }))).toBe("[lines 2 to 3 of 50]\nline 2\nline 3");
    expect(textOf(await call("read_file", { path: "notes/a.txt", offset: 99 }))).toContain("has 50 lines");
    expect(textOf(await call("edit_file", { path: "notes/a.txt", old_text: "line 7\n", new_text: "seventh\n" }))).toContain("in line 7.");
    expect(textOf(await call("edit_file", { path: "notes/a.txt", old_text: "line 1", new_text: "x" }))).toMatch(
      /11 times, in lines 1, 10, 11/,
    );
    expect(textOf(await call("edit_file", { path: "notes/a.txt", old_text: "  seventh", new_text: "x" }))).toMatch(
      /from line 7 on .* white space/,
    );
    expect(textOf(await call("edit_file", { path: "notes/a.txt", old_text: "line", new_text: "$&", replace_all: true }))).toContain(
      "49 places",
    );
    expect(textOf(await call("search_files", { pattern: "^\\$& (8|9)$", path: "notes" }))).toBe("notes/a.txt:8:$& 8\nnotes/a.txt:9:$& 9");
    expect(textOf(await call("search_files", { pattern: "SEVENTH", ignore_case: true, include: "*.txt" }))).toBe("./notes/a.txt:7:seventh");
    expect(textOf(await call("search_files", { pattern: "-e nothing" }))).toBe("No line matches.");
    expect(await call("search_files", { pattern: "(" })).toMatchObject({ isError: true });
    expect(textOf(await call("list_files", { path: "notes" }))).toMatch(/^\/home\/user\/notes\/a\.txt\t\d+ bytes$/);
  });

  it("edit no place of several that overlap, and read files of the system, which state no size or a wrong one", async () => {
    await call("write_file", { path: "braces.txt", content: "}\n}\n}\n" });
    const edit = { path: "braces.txt", old_text: "}\n}", new_text: "]" };
    const refused = await call("edit_file", edit);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("2 times, in lines 1, 2");
    expect(textOf(await call("edit_file", { ...edit, replace_all: true }))).toContain("Replaced 1 place");
    expect(textOf(await call("read_file", { path: "braces.txt" }))).toBe("]\n}");
    expect(textOf(await call("read_file", { path: "/proc/self/status" }))).toContain("Name:");
    expect(textOf(await call("read_file", { path: "/sys/kernel/mm/transparent_hugepage/enabled" }))).toContain("never");
  });

  it("give an image as an image, and refuse what is neither image nor text", async () => {
    await call("run_command", {
      command: `echo ${PNG} | base64 -d > dot.png; head -c 100 /dev/urandom > noise.bin; truncate -s 9M big.txt`,
    });
    expect(await call("read_file", { path: "dot.png" })).toEqual({
      content: [{ type: "image", data: PNG, mimeType: "image/png" }],
      isError: false,
    });
    expect(textOf(await call("read_file", { path: "noise.bin" }))).toMatch(/no text; look at it with run_command/);
    expect(textOf(await call("read_file", { path: "big.txt" }))).toMatch(/more than \d+ bytes; look at parts/);
    await call("run_command", { command: "{ cat dot.png; head -c 4M /dev/zero; } > large.png; printf 'RIFF1234WEBP' > tiny.webp" });
    expect(textOf(await call("read_file", { path: "large.png" }))).toMatch(/an image of 4194\d+ bytes, and \d+ are the most/);
    expect((await call("read_file", { path: "tiny.webp" })).content).toMatchObject([{ mimeType: "image/webp" }]);
    for (const content of ["GIF8 is how it begins", "12345678WEBP", "GIF8"]) {
      await call("write_file", { path: "words.txt", content });
      expect(textOf(await call("read_file", { path: "words.txt" }))).toBe(content);
    }
    expect(await call("edit_file", { path: "dot.png", old_text: "a", new_text: "b" })).toMatchObject({ isError: true });
  });

  it("MCP-05: inputs that are wrong are answers that name the member and what may stand there", async () => {
    expect((await call("list_files")).isError).toBe(false);
    expect((await call("list_files", null)).isError).toBe(false);
    for (const [name, input, words] of [
      ["read_file", {}, /read_file failed: path is missing/],
      ["read_file", { path: 5 }, /path must be a string, not 5/],
      ["read_file", { path: "x", nonsense: 1 }, /takes no "nonsense"; it takes path, offset, limit, sandbox_id/],
      ["list_files", { depth: 0 }, /depth must be a whole number from 1 to 10/],
      ["run_code", { code: "1", language: "cobol" }, /language must be one of python, javascript, typescript, bash/],
      ["create_sandbox", { envs: { A: 1 } }, /envs must be an object whose values are strings/],
      ["read_file", [], /takes an object, not an array/],
      ["read_file", { path: "missing.txt" }, /missing\.txt.*list_files/],
      ["read_file", { path: "a\0b" }, /NUL/],
      ["run_command", { command: "true", sandbox_id: "not-mine" }, /has no sandbox "not-mine"; it has: \w+/],
      ["create_sandbox", { template: "no-such-template" }, /create_sandbox failed: .*no-such-template/],
    ] as const) {
      const result = await call(name, input);
      expect(result.isError, `${name} ${JSON.stringify(input)}`).toBe(true);
      expect(textOf(result)).toMatch(words);
    }
    const huge = await call("run_command", { command: `: ${"x".repeat(3_000_000)}` });
    expect(textOf(huge).length).toBeLessThan(4_000);
  });

  it("a sandbox that ended is told, and the next call gets a new one", async () => {
    await using own = new SandboxSession({ create: { ...connection, timeoutMs: 120_000 } });
    const ownTools = createTools(own);
    const run = (input: object) => findTool(ownTools, "run_command").execute(input);
    await Promise.all([run({ command: "true" }), run({ command: "true" })]);
    expect(own.sandboxIds).toHaveLength(1);
    const [first = ""] = own.sandboxIds;
    await Sandbox.kill(first, connection);
    expect(textOf(await run({ command: "true" }))).toMatch(/ended and its files are gone/);
    expect((await run({ command: "true" })).isError).toBe(false);
    expect(own.sandboxIds).not.toContain(first);
  });

  it("a session keeps to its limit, kills what it made and not what it was given", async () => {
    await using given = await Sandbox.create({ ...connection, timeoutMs: 120_000 });
    const own = new SandboxSession({ sandbox: given, create: connection, maxSandboxes: 1 });
    const ownTools = createTools(own);
    const run = (name: string, input?: object) => findTool(ownTools, name).execute(input);
    expect(textOf(await run("run_command", { command: "echo $E2B_SANDBOX_ID" }))).toContain(given.sandboxId);
    expect(textOf(await run("kill_sandbox"))).toContain("may not kill it");
    const [, made = ""] = /Sandbox (\S+) is ready/.exec(textOf(await run("create_sandbox", { envs: { MARK: "m" } }))) ?? [];
    expect(textOf(await run("run_command", { command: "echo $MARK" }))).toContain("m");
    expect(textOf(await run("create_sandbox"))).toMatch(/1 sandboxes already/);
    expect(textOf(await run("run_command", { command: "echo $E2B_SANDBOX_ID", sandbox_id: given.sandboxId }))).toContain(given.sandboxId);
    await own.close();
    await expect(Sandbox.getInfo(made, connection)).rejects.toMatchObject({ reason: "sandbox_not_found" });
    expect(await given.isRunning()).toBe(true);
    expect(await run("create_sandbox")).toMatchObject({ isError: true });
  });
});
