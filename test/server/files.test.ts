import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./support/test-server.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("file routes", () => {
  let server: TestServer;
  let outside: string;
  beforeAll(async () => {
    server = await startTestServer({}, { maxUploadBytes: 64 * 1024 });
    outside = await mkdtemp(join(tmpdir(), "outside-"));
    await writeFile(join(outside, "secret"), "secret");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(outside, { recursive: true });
  });

  test.each(["/upload", "/files/upload-stream"])("POST %s writes a file whole, with the directories on the way", async (path) => {
    const target = join(server.baseDir, `a/b${path}`);
    expect(await server.call("POST", path, { path: target, content_base64: base64("héllo") })).toMatchObject({
      status: 200,
      body: { path: target, bytes: 6 },
    });
    await chmod(target, 0o750);
    expect((await server.call("POST", path, { path: target, content_base64: base64("again") })).status).toBe(200);
    expect(await readFile(target, "utf8")).toBe("again");
    expect((await stat(target)).mode & 0o777).toBe(0o750);
  });

  test("GET /download and /files/download-stream read it back", async () => {
    await writeFile(join(server.baseDir, "read.txt"), "content");
    const path = join(server.baseDir, "read.txt");
    expect((await server.call("GET", "/download?path=read.txt")).body).toEqual({ path, content_base64: base64("content") });
    expect((await server.call("GET", `/files/download-stream?path=${path}`)).body).toEqual({
      path,
      content_base64: base64("content"),
      bytes: 7,
    });
    expect(await server.call("GET", "/download?path=nothing")).toMatchObject({ status: 404, body: { type: "FileNotFoundError" } });
    expect((await server.call("GET", "/download")).status).toBe(400);
    expect((await server.call("GET", "/download?path=.")).status).toBe(400);
  });

  test("content that is no base64, or above the limit, is refused", async () => {
    expect((await server.call("POST", "/upload", { path: "x", content_base64: "%%%" })).status).toBe(400);
    expect((await server.call("POST", "/upload", { path: "x" })).status).toBe(400);
    expect((await server.call("POST", "/upload", { path: "x", content_base64: base64("x".repeat(64 * 1024 + 1)) })).status).toBe(413);
    expect((await server.call("POST", "/upload", { path: "x", content_base64: "A".repeat(5 * 1024 * 1024) })).status).toBe(413);
    await writeFile(join(server.baseDir, "large"), "x".repeat(64 * 1024 + 1));
    expect((await server.call("GET", "/download?path=large")).status).toBe(413);
  });

  test("GET /files/list lists a directory, three levels deep when asked, and leaves out links that lead out", async () => {
    const root = join(server.baseDir, "list");
    await mkdir(join(root, "1/2/3/4"), { recursive: true });
    await writeFile(join(root, "file"), "12345");
    await symlink("file", join(root, "inside"));
    await symlink(outside, join(root, "outside"));
    await symlink("/etc/passwd", join(root, "passwd"));
    const names = async (query: string) =>
      (await server.call("GET", `/files/list?path=list${query}`)).body.entries.map(
        ({ name, type }: { name: string; type: string }) => `${name} ${type}`,
      );
    expect(await names("")).toEqual(["1 directory", "file file", "inside file"]);
    expect(await names("&recursive=yes")).toEqual([
      "1 directory",
      "1/2 directory",
      "1/2/3 directory",
      "1/2/3/4 directory",
      "file file",
      "inside file",
    ]);
    expect(await names("&max_entries=2")).toEqual(["1 directory", "file file"]);
    const { body } = await server.call("GET", "/files/list?path=list");
    expect(body.entries[1]).toMatchObject({ size: 5, modified: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) });
    expect((await server.call("GET", "/files/list?path=list/none")).status).toBe(404);
    expect((await server.call("GET", "/files/list?path=list/file")).status).toBe(400);
    expect((await server.call("GET", "/files/list?path=list&max_entries=0")).status).toBe(400);
  });

  test("GET /files/stat describes what is there and what is not", async () => {
    await writeFile(join(server.baseDir, "stat"), "123", { mode: 0o640 });
    await symlink("stat", join(server.baseDir, "stat-link"));
    expect((await server.call("GET", "/files/stat?path=stat")).body).toMatchObject({
      type: "file",
      size: 3,
      permissions: "640",
      exists: true,
    });
    expect((await server.call("GET", "/files/stat?path=stat-link")).body).toMatchObject({ type: "symlink", exists: true });
    expect((await server.call("GET", "/files/stat?path=.")).body).toMatchObject({ type: "directory", exists: true });
    expect((await server.call("GET", "/files/stat?path=none/deeper")).body).toEqual({
      name: "deeper",
      path: join(server.baseDir, "none/deeper"),
      type: "unknown",
      size: 0,
      permissions: "",
      modified: "",
      accessed: "",
      created: "",
      exists: false,
    });
  });

  test("directories are made, things are moved and deleted", async () => {
    expect((await server.call("POST", "/files/mkdir", { path: "m/n" })).body).toEqual({ path: join(server.baseDir, "m/n"), created: true });
    expect((await server.call("POST", "/files/mkdir", { path: "m/n" })).status).toBe(200);
    await writeFile(join(server.baseDir, "m/n/x"), "x");
    expect((await server.call("POST", "/files/mkdir", { path: "m/n/x" })).status).toBe(400);
    expect((await server.call("POST", "/files/move", { source: "m/n/x", destination: "m/y" })).body).toEqual({
      source: join(server.baseDir, "m/n/x"),
      destination: join(server.baseDir, "m/y"),
    });
    expect((await server.call("POST", "/files/move", { source: "m/n/x", destination: "m/z" })).status).toBe(404);
    const escaping = await server.call("POST", "/files/move", { source: "m/y", destination: "../out" });
    expect(escaping).toMatchObject({ status: 400, body: { error: "destination: Path escapes base directory" } });
    expect((await server.call("DELETE", "/files?path=m")).body).toEqual({ path: join(server.baseDir, "m"), deleted: true });
    expect((await server.call("DELETE", "/files?path=m")).status).toBe(404);
    expect((await server.call("DELETE", "/files?path=.")).status).toBe(400);
  });

  test("POST /files/search compares names with a pattern, within bounds", async () => {
    await mkdir(join(server.baseDir, "s/1/2"), { recursive: true });
    for (const name of ["a.py", "1/b.py", "1/2/c.py", "1/d.txt", "[x]"]) await writeFile(join(server.baseDir, "s", name), "");
    const search = async (body: object) => (await server.call("POST", "/files/search", { path: "s", ...body })).body;
    const names = async (body: object) => (await search(body)).results.map(({ name }: { name: string }) => name);
    expect(await names({ pattern: "*.py" })).toEqual(["c.py", "b.py", "a.py"]);
    expect(await names({ pattern: "*.py", max_depth: 1 })).toEqual(["b.py", "a.py"]);
    expect(await names({ pattern: "*", max_results: 2 })).toHaveLength(2);
    expect(await names({ pattern: "[ab].p?" })).toEqual(["b.py", "a.py"]);
    expect(await names({ pattern: "[!ab].py" })).toEqual(["c.py"]);
    expect(await names({ pattern: "[[]x]" })).toEqual(["[x]"]);
    expect(await search({ pattern: "x" })).toEqual({ results: [], timed_out: false });
    // Would take longer than the universe for a matcher that tries everything.
    await writeFile(join(server.baseDir, "s", "a".repeat(200)), "");
    expect(await names({ pattern: `${"*a".repeat(100)}*b` })).toEqual([]);
    expect((await server.call("POST", "/files/search", { path: "s" })).status).toBe(400);
  });

  test("POST /files/archive packs files, directories and links, in both forms", async () => {
    const root = join(server.baseDir, "pack");
    await mkdir(join(root, "deep"), { recursive: true });
    await writeFile(join(root, "deep/run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    await symlink("/etc/passwd", join(root, "link"));
    const tar = (await server.call("POST", "/files/archive", { paths: ["pack"] })).body;
    expect(tar.format).toBe("tar.gz");
    const listed = execFileSync("tar", ["-tvzf", "-"], { input: Buffer.from(tar.content_base64, "base64") }).toString();
    expect(listed).toMatch(/-rwxr-xr-x .* pack\/deep\/run\.sh/);
    expect(listed).toMatch(/pack\/link -> \/etc\/passwd/);
    const zip = (await server.call("POST", "/files/archive", { paths: [join(root, "deep")], format: "zip" })).body;
    const files = unzipSync(Buffer.from(zip.content_base64, "base64"));
    expect(Object.keys(files)).toEqual(["pack/deep/", "pack/deep/run.sh"]);
    expect(Buffer.from(files["pack/deep/run.sh"] ?? []).toString()).toBe("#!/bin/sh\n");
    expect(zip.bytes).toBe(Buffer.from(zip.content_base64, "base64").length);
    expect((await server.call("POST", "/files/archive", { paths: ["pack"], format: "rar" })).status).toBe(400);
    expect((await server.call("POST", "/files/archive", { paths: ["none"] })).status).toBe(404);
    expect((await server.call("POST", "/files/archive", { paths: [] })).status).toBe(400);
  });

  const ESCAPES: readonly [string, string][] = [
    ["..", "a parent"],
    ["../../etc/passwd", "parents"],
    ["/etc/passwd", "an absolute path"],
    ["out/secret", "a link to a directory outside"],
    ["out-file", "a link to a file outside"],
    ["dangling", "a link to a file outside that is not there"],
    ["loop/../../../etc/passwd", "parents of nothing"],
  ];
  test.each(ESCAPES)("%s (%s) is refused by every route, and nothing outside changes", async (path) => {
    await symlink(outside, join(server.baseDir, "out")).catch(() => {});
    await symlink(join(outside, "secret"), join(server.baseDir, "out-file")).catch(() => {});
    await symlink(join(outside, "new"), join(server.baseDir, "dangling")).catch(() => {});
    const query = `path=${encodeURIComponent(path)}`;
    const isPresentLink = path === "out-file" || path === "dangling";
    const calls = [
      server.call("GET", `/download?${query}`),
      server.call("GET", `/files/download-stream?${query}`),
      server.call("GET", `/files/list?${query}`),
      server.call("POST", "/upload", { path, content_base64: base64("owned") }),
      server.call("POST", "/files/upload-stream", { path: `${path}/x`, content_base64: base64("owned") }),
      server.call("POST", "/files/mkdir", { path: `${path}/x` }),
      server.call("POST", "/files/search", { path, pattern: "*" }),
      // These treat a link at the end as the link that it is.
      ...(isPresentLink
        ? []
        : [
            server.call("DELETE", `/files?${query}`),
            server.call("POST", "/files/move", { source: path, destination: "moved" }),
            server.call("POST", "/files/archive", { paths: [path] }),
            server.call("GET", `/files/stat?${query}`),
          ]),
    ];
    for (const { status, body } of await Promise.all(calls)) {
      expect([400, 404], JSON.stringify(body)).toContain(status);
      expect(JSON.stringify(body)).not.toContain(base64("secret"));
    }
    expect(execFileSync("ls", [outside]).toString()).toBe("secret\n");
    expect(await readFile(join(outside, "secret"), "utf8")).toBe("secret");
  });

  test("a pipe is no file, and nobody waits for it", async () => {
    execFileSync("mkfifo", [join(server.baseDir, "pipe")]);
    expect((await server.call("GET", "/download?path=pipe")).status).toBe(400);
    expect((await server.call("POST", "/upload", { path: "pipe", content_base64: base64("x") })).status).toBe(400);
    expect((await server.call("POST", "/files/archive", { paths: ["pipe"] })).status).toBe(200);
  });

  test("paths with NUL are refused", async () => {
    expect((await server.call("GET", "/download?path=a%00b")).status).toBe(400);
    expect((await server.call("POST", "/upload", { path: "a\0b", content_base64: "" })).status).toBe(400);
  });
});
