import { MastraFilesystem, type WorkspaceFilesystem } from "@mastra/core/workspace";
import { afterAll, beforeAll, expect, expectTypeOf, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import { AgentSandboxFilesystem } from "../../../src/agent/mastra/agent-sandbox-filesystem.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("the file system of a Mastra sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  let sandbox: AgentSandbox;
  let files: AgentSandboxFilesystem;
  const run = async (line: string) => (await sandbox.executeCommand(line)).stdout;
  beforeAll(() => {
    sandbox = new AgentSandbox({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 } });
    files = new AgentSandboxFilesystem({ sandbox });
  });
  afterAll(() => sandbox._destroy());

  it("is what Mastra takes for a file system, and starts the sandbox when it is used", async () => {
    expectTypeOf<AgentSandboxFilesystem>().toExtend<WorkspaceFilesystem>();
    expect(files).toBeInstanceOf(MastraFilesystem);
    expect(files.basePath).toBeUndefined();
    expect(files.resolveAbsolutePath("a")).toBeUndefined();
    await files.writeFile("first", "1");
    expect(sandbox.status).toBe("running");
    expect(files.basePath).toBe("/home/user");
    expect(files.resolveAbsolutePath("a/b")).toBe("/home/user/a/b");
    expect(files.resolveAbsolutePath("/a/b")).toBe("/a/b");
    expect(files.getInfo()).toMatchObject({ id: files.id, provider: "agent-sandbox", status: "ready", readOnly: false });
    expect(files.getInstructions()).toContain("Relative paths begin in /home/user.");
  });

  it("has the paths of the commands", async () => {
    await files.writeFile("rel/a", "a");
    await files.writeFile("/tmp/b", "b");
    await files.writeFile("~/c", "c");
    await files.writeFile("./rel/../d", "d");
    expect(await run("cat rel/a /tmp/b /home/user/c d")).toBe("abcd");
    await files.appendFile("~/c", "c");
    await files.copyFile("~/c", "~/new dir/e", { overwrite: false });
    await files.writeFile("~/new dir/f", "f", { overwrite: false });
    expect(await files.realpath("~/new dir/..")).toBe("/home/user");
    expect(await run("cat ~/c ~/new\\ dir/e ~/new\\ dir/f")).toBe("ccccf");
    expect(await files.exists("/~")).toBe(false);
    await run("echo from command >out");
    expect(await files.readFile("out", { encoding: "utf8" })).toBe("from command\n");
    expect((await files.stat("rel")).path).toBe("/home/user/rel");
  });

  it("tells links, follows them for content, and removes only them", async () => {
    await run("mkdir -p links/dir && echo x >links/dir/f && cd links && ln -s dir todir && ln -s dir/f tofile && ln -s nowhere broken");
    const entries = new Map((await files.readdir("links")).map((entry) => [entry.name, entry]));
    expect(entries.get("todir")).toMatchObject({ type: "directory", isSymlink: true });
    expect(entries.get("tofile")).toMatchObject({ type: "file", isSymlink: true });
    expect(entries.get("dir")).not.toHaveProperty("isSymlink");
    expect(await files.readFile("links/tofile", { encoding: "utf8" })).toBe("x\n");
    expect(await files.realpath("links/todir/f")).toBe("/home/user/links/dir/f");
    expect(await files.exists("links/broken")).toBe(false);
    await expect(files.stat("links/broken")).rejects.toMatchObject({ code: "ENOENT" });
    await expect(files.realpath("links/broken")).rejects.toMatchObject({ code: "ENOENT" });
    for (const name of ["broken", "todir", "tofile"]) await files.deleteFile(`links/${name}`);
    expect(await run("find links | sort")).toBe("links\nlinks/dir\nlinks/dir/f\n");
    expect((await files.readdir("links", { recursive: true })).map(({ name }) => name)).toEqual(["dir", "dir/f"]);
  });

  it("keeps permissions when it copies", async () => {
    await run("echo 'echo ran' >script; chmod 755 script");
    await files.copyFile("script", "copy1");
    await files.copyFile("script", "copy2", { overwrite: false });
    expect(await run("./copy1; ./copy2")).toBe("ran\nran\n");
  });

  it("tells what the sandbox does not permit, and what is of the wrong kind", async () => {
    await expect(files.appendFile("/etc/passwd", "x")).rejects.toMatchObject({ name: "PermissionError", code: "EACCES" });
    await expect(files.copyFile("first", "/etc/copy")).rejects.toMatchObject({ name: "PermissionError", code: "EACCES" });
    await run("mkdir -p secret && echo x >secret/f && chmod 000 secret/f");
    const copying = files.copyFile("secret", "secret2", { recursive: true, overwrite: false });
    await expect(copying).rejects.toMatchObject({ name: "PermissionError" });
    await files.writeFile("kind/f", "x");
    await files.mkdir("kind/d");
    await expect(files.writeFile("kind/d", "x")).rejects.toMatchObject({ name: "IsDirectoryError" });
    await expect(files.writeFile("kind/f/g", "x")).rejects.toMatchObject({ name: "NotDirectoryError" });
    await expect(files.writeFile("kind/f/g", "x", { recursive: false })).rejects.toMatchObject({ name: "NotDirectoryError" });
    expect(await files.exists("kind/f/g")).toBe(false);
    await expect(files.mkdir("kind/f/g")).rejects.toMatchObject({ name: "NotDirectoryError" });
    await expect(files.moveFile("kind/f", "kind/d")).rejects.toMatchObject({ name: "IsDirectoryError" });
    await expect(files.copyFile("kind/f", "kind/d")).rejects.toMatchObject({ name: "IsDirectoryError" });
    await expect(files.appendFile("kind/d", "x")).rejects.toMatchObject({ name: "IsDirectoryError" });
    await expect(files.copyFile("kind", "kind/d/e", { recursive: true })).rejects.toMatchObject({ code: "EIO" });
    await expect(files.readFile("a\0b")).rejects.toMatchObject({ name: "FilesystemError", code: "EINVAL" });
    expect(await run("ls /tmp | grep -c append- || true")).toBe("0\n");
  });

  it("refuses changes where it only reads", async () => {
    const readOnly = new AgentSandboxFilesystem({ sandbox, readOnly: true });
    expect(await readOnly.readFile("first", { encoding: "utf8" })).toBe("1");
    for (const change of [
      () => readOnly.writeFile("x", "x"),
      () => readOnly.appendFile("x", "x"),
      () => readOnly.deleteFile("first"),
      () => readOnly.copyFile("first", "x"),
      () => readOnly.moveFile("first", "x"),
      () => readOnly.mkdir("x"),
      () => readOnly.rmdir("rel"),
    ]) {
      await expect(change()).rejects.toMatchObject({ name: "WorkspaceReadOnlyError" });
    }
    expect(await files.exists("x")).toBe(false);
    expect(readOnly.getInstructions()).toContain("only read");
  });

  it("walks a tree in one request, without what is hidden unless it is told", async () => {
    for (const name of ["a", ".h/x", "sub/b", "sub/.c", "sub/deep/d"]) await files.writeFile(`tree/${name}`, "");
    const paths = async (options = {}) => (await files.walk("tree", options)).map((entry) => entry.path).sort();
    expect(await paths()).toEqual(["a", "sub", "sub/b", "sub/deep", "sub/deep/d"]);
    expect(await paths({ includeHidden: true })).toEqual([".h", ".h/x", "a", "sub", "sub/.c", "sub/b", "sub/deep", "sub/deep/d"]);
    expect(await paths({ maxDepth: 1 })).toEqual(["a", "sub"]);
    await expect(files.walk("tree/a")).rejects.toMatchObject({ name: "NotDirectoryError" });
    await expect(files.walk("no")).rejects.toMatchObject({ name: "DirectoryNotFoundError" });
    expect((await files.walk("/", { maxDepth: 1 })).map((entry) => entry.path)).toContain("home");
  });

  it("searches with the expressions of JavaScript", async () => {
    await files.writeFile("grep/a.ts", "const ünï = 1;\nexport function go(n: number) {}\n// Function\nfunction  two() {}\n");
    await run("cd grep && { echo needle-1; head -c 17825792 /dev/zero | tr '\\0' '\\n'; echo needle-2; } > large.txt");
    const large = await files.grep({ pattern: "needle-\\d", path: "grep", caseSensitive: true, includeHidden: false });
    // What lies behind 16 MiB stays out of the memory of this program.
    expect(large.map(({ path, matches }) => [path, matches.map(({ text }) => text)])).toEqual([["large.txt", ["needle-1"]]]);
    await files.writeFile("grep/sub/b.md", "a function(x)\n");
    await files.writeFile("grep/.hidden/c.ts", "function hidden() {}\n");
    await files.writeFile("grep/picture.png", "function f() {}");
    const grep = (pattern: string, more = {}) => files.grep({ pattern, path: "grep", caseSensitive: true, includeHidden: false, ...more });
    expect(await grep("function\\s+\\w+\\(")).toEqual([
      {
        path: "a.ts",
        matches: [
          { line: 2, column: 7, text: "export function go(n: number) {}" },
          { line: 4, column: 0, text: "function  two() {}" },
        ],
      },
    ]);
    expect(await grep("ünï = \\d")).toEqual([{ path: "a.ts", matches: [{ line: 1, column: 6, text: "const ünï = 1;" }] }]);
    expect(
      (await grep("FUNCTION", { caseSensitive: false, maxCountPerFile: 1 })).map(({ path, matches }) => [path, matches.length]),
    ).toEqual([
      ["a.ts", 1],
      ["sub/b.md", 1],
    ]);
    expect((await grep("function", { includeHidden: true })).map(({ path }) => path)).toEqual([".hidden/c.ts", "a.ts", "sub/b.md"]);
    expect((await grep("function", { maxTotalMatches: 1 })).flatMap(({ matches }) => matches)).toHaveLength(1);
    expect(await grep("// Function", { contextLines: 1 })).toMatchObject([
      { matches: [{ line: 3, before: ["export function go(n: number) {}"], after: ["function  two() {}"] }] },
    ]);
    expect(await grep("-e nothing")).toEqual([]);
    expect(await grep("there is none")).toEqual([]);
    expect((await grep("function", { path: "grep/.hidden" })).map(({ path }) => path)).toEqual(["c.ts"]);
    await expect(grep("a|b")).rejects.toMatchObject({ code: "EUNSUPPORTED_PATTERN" });
    await expect(grep("function", { path: "no" })).rejects.toMatchObject({ code: "EUNSUPPORTED_PATTERN" });
  });

  it("is not misled by what the profile of a template prints", async () => {
    await using given = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    await given.files.write(".bash_profile", "echo welcome; echo beware >&2");
    const chatty = new AgentSandbox({ sandbox: given });
    const its = new AgentSandboxFilesystem({ sandbox: chatty });
    await its.writeFile("a.txt", "some text");
    expect(chatty.workingDirectory).toBe("/home/user");
    expect(await its.realpath("a.txt")).toBe("/home/user/a.txt");
    expect(await its.grep({ pattern: "text", path: ".", caseSensitive: true, includeHidden: false })).toMatchObject([{ path: "a.txt" }]);
  });

  it("moves large content through without change", async () => {
    const large = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef\n");
    await files.writeFile("large", large);
    await files.appendFile("large", large);
    const read = (await files.readFile("large")) as Buffer;
    expect(read.length).toBe(2 * large.length);
    expect(read.subarray(large.length).equals(large)).toBe(true);
  });
});
