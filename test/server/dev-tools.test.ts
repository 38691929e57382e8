import { execFileSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./support/test-server.js";

describe("dev tools", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({}, { groups: { dev_tools: true } });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: server.baseDir, stdio: "pipe" });
    git("init", "--initial-branch=main");
    for (const name of ["changed", "gone", "old name"]) await writeFile(join(server.baseDir, name), `${name}\n`.repeat(5));
    git("add", ".");
    git("commit", "-m", "first");
    await writeFile(join(server.baseDir, "changed"), "new\n");
    git("rm", "gone");
    git("mv", "old name", "new name");
    await writeFile(join(server.baseDir, "añadido"), "x");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([
    ["python", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"],
    ["node", "console.log('out'); console.error('err'); process.exit(3)"],
    ["bash", "echo out; echo err >&2; exit 3"],
  ])("POST /code/run runs %s", async (language, code) => {
    const { body } = await server.call("POST", "/code/run", { code, language });
    expect(body).toMatchObject({ stdout: "out\n", stderr: "err\n", exit_code: 3, language });
    expect(body.execution_time_ms).toBeGreaterThan(0);
  });

  test("POST /code/run ends code that takes too long, and refuses other languages", async () => {
    expect(await server.call("POST", "/code/run", { code: "sleep 60", language: "bash", timeout: 0.1 })).toMatchObject({
      status: 408,
      body: { type: "TimeoutError" },
    });
    expect((await server.call("POST", "/code/run", { code: "1", language: "cobol" })).status).toBe(400);
    expect((await server.call("POST", "/code/run", {})).status).toBe(400);
  });

  test("GET /git/status tells what happened to each file", async () => {
    expect((await server.call("GET", "/git/status")).body).toEqual({
      branch: "main",
      clean: false,
      files: [
        { path: "changed", status: "modified" },
        { path: "gone", status: "deleted" },
        { path: "new name", status: "renamed" },
        { path: "añadido", status: "untracked" },
      ],
    });
  });

  test("GET /git/diff shows changes, staged ones, or those of one file", async () => {
    const { diff, stats } = (await server.call("GET", "/git/diff")).body;
    expect(diff).toContain("+new");
    expect(stats).toEqual({ files_changed: 1, insertions: 1, deletions: 5 });
    expect((await server.call("GET", "/git/diff?staged=true")).body.stats.files_changed).toBe(2);
    expect((await server.call("GET", "/git/diff?file=gone")).body.stats.files_changed).toBe(0);
    await writeFile(join(server.baseDir, "changed"), "line\n".repeat(400_000));
    const long = (await server.call("GET", "/git/diff")).body.diff;
    expect(long).toMatch(/\n\.\.\. \(truncated at 1MB\)$/);
    expect(Buffer.byteLength(long)).toBeLessThan(1024 * 1024 + 100);
    await writeFile(join(server.baseDir, "changed"), "new\n");
  });

  test("programs that the repository names are not run, and options cannot be smuggled in", async () => {
    const marker = join(server.baseDir, ".git/ran");
    const script = join(server.baseDir, ".git/evil.sh");
    await writeFile(script, `#!/bin/sh\ntouch ${marker}\n`);
    await chmod(script, 0o755);
    for (const name of ["core.fsmonitor", "diff.external", "core.pager"])
      execFileSync("git", ["config", name, script], { cwd: server.baseDir });
    await server.call("GET", "/git/status");
    await server.call("GET", "/git/diff");
    await server.call("GET", `/git/diff?file=${encodeURIComponent("--output=/tmp/pwned-by-git")}`);
    expect((await server.call("POST", "/shell", { command: `ls ${marker} /tmp/pwned-by-git` })).body.stdout).toBe("");
  });

  test("paths with .. and places without a repository are refused", async () => {
    expect((await server.call("GET", "/git/status?path=../x")).status).toBe(400);
    expect((await server.call("GET", "/git/diff?file=a/../../b")).status).toBe(400);
    expect(await server.call("GET", "/git/status?path=/proc")).toMatchObject({
      status: 400,
      body: { error: "Path escapes base directory" },
    });
    await using bare = await startTestServer({}, { groups: { dev_tools: true } });
    expect(await bare.call("GET", "/git/status")).toMatchObject({ status: 400, body: { type: "GitError" } });
    expect((await bare.call("GET", "/git/status?path=nowhere")).status).toBe(400);
  });
});
