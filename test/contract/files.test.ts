import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ConnectionOptions,
  FailedPreconditionError,
  FileNotFoundError,
  type FilesystemEvent,
  InvalidArgumentError,
  Sandbox,
  SandboxError,
} from "../../src/index.js";
import { downloadDir, uploadDir } from "../../src/node/index.js";
import { openPlatform, openSandboxParts, type SandboxParts } from "../../src/sandbox/open-sandbox.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("files of a sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options: ConnectionOptions = { apiUrl, sandboxUrl, apiKey };
  let sandbox: Sandbox;
  /** The same sandbox for a client that does not know our daemon. */
  let foreign: SandboxParts;
  let local: string;
  beforeAll(async () => {
    sandbox = await Sandbox.create("base", { ...options, timeoutMs: 300_000 });
    const platform = await openPlatform(options);
    const access = await platform.lifecycle.connect(sandbox.sandboxId, { timeoutMs: undefined, wantsMemory: undefined }, {});
    foreign = openSandboxParts(platform, { ...access, isBinary: false });
    local = await mkdtemp(join(tmpdir(), "contract-files-"));
  });
  afterAll(async () => {
    await sandbox?.kill();
    await rm(local, { recursive: true, force: true });
  });

  it("FIL-01, FIL-02: an empty file is written and read in each format", async () => {
    for (const useOctetStream of [true, false]) {
      expect(await sandbox.files.write("e.bin", "", { useOctetStream })).toMatchObject({ path: "/home/user/e.bin", type: "file" });
      expect(await sandbox.files.read("e.bin")).toBe("");
      expect(await sandbox.files.read("e.bin", { format: "bytes" })).toEqual(new Uint8Array(0));
      expect((await sandbox.files.read("e.bin", { format: "blob" })).size).toBe(0);
      expect(await new Response(await sandbox.files.read("e.bin", { format: "stream" })).text()).toBe("");
    }
  });

  it("FIL-06: what a slow reader gets is the file, byte for byte", async () => {
    await sandbox.commands.run("head -c 8000000 /dev/urandom > slow.bin");
    const digest = (await sandbox.commands.run("sha256sum slow.bin")).stdout.slice(0, 64);
    const hash = createHash("sha256");
    for await (const chunk of await sandbox.files.read("slow.bin", { format: "stream" })) {
      hash.update(chunk);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(hash.digest("hex")).toBe(digest);
    const part = await sandbox.files.read("slow.bin", { format: "bytes", range: { start: 4_000_000, end: 4_000_010 } });
    expect(Buffer.from(part).toString("hex")).toBe(
      (await sandbox.commands.run("tail -c +4000001 slow.bin | head -c 10 | od -An -tx1 | tr -d ' \\n'")).stdout,
    );
  });

  it("FIL-09, FIL-30: bytes and not characters are counted, compressed too, one by one and together", async () => {
    const text = "é日🚀".repeat(1000);
    await sandbox.files.write("u.txt", text, { gzip: true });
    expect((await sandbox.files.getInfo("u.txt")).size).toBe(9000);
    expect(await sandbox.files.read("u.txt", { gzip: true })).toBe(text);
    await sandbox.files.writeFiles(
      [
        { path: "many/a", data: "ascii" },
        { path: "many/日.txt", data: text },
        { path: "many/z", data: new Blob(["end"]).stream() },
      ],
      { gzip: true },
    );
    expect((await sandbox.files.list("many")).map(({ name, size }) => [name, size])).toEqual([
      ["a", 5],
      ["z", 3],
      ["日.txt", 9000],
    ]);
  });

  it("FIL-12, FIL-35: dots and homes mean the same on every call, for each user", async () => {
    for (const path of [".env", "..data/x", "a/./b", "a/../b", "..."]) {
      await sandbox.files.write(path, path);
      expect(await sandbox.files.read(path)).toBe(path);
      expect(await sandbox.files.exists(path)).toBe(true);
    }
    for (const [user, home] of [
      ["user", "/home/user"],
      ["root", "/root"],
    ] as const) {
      await sandbox.files.write("~/x", "x", { user });
      for (const path of ["~/x", "x", "./x"]) expect((await sandbox.files.getInfo(path, { user })).path).toBe(`${home}/x`);
      expect((await sandbox.files.getInfo("~", { user })).path).toBe(home);
      await expect(sandbox.files.getInfo("~other/x", { user })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("FIL-14, FIL-21: files and directories are not taken for each other", async () => {
    expect(await sandbox.files.makeDir("d/e")).toBe(true);
    expect(await sandbox.files.makeDir("d/e")).toBe(false);
    await expect(sandbox.files.write("d", "x")).rejects.toThrow("/home/user/d");
    await expect(sandbox.files.read("d")).rejects.toBeInstanceOf(InvalidArgumentError);
    await sandbox.files.write("plain", "");
    await expect(sandbox.files.makeDir("plain")).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("FIL-16: 50 uploads at once into one new directory all arrive, owned by the user", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => sandbox.files.write(`n/e/w/${index}.txt`, String(index))));
    const entries = await sandbox.files.list("n", { depth: 3 });
    expect(entries).toHaveLength(52);
    expect(new Set(entries.map(({ owner }) => owner))).toEqual(new Set(["user"]));
    expect((await sandbox.files.getInfo("/home")).owner).toBe("root");
  });

  it("FIL-18: one path twice in one upload is refused", async () => {
    const twice = [
      { path: "x2", data: "1" },
      { path: "./x2", data: "2" },
    ];
    await expect(sandbox.files.writeFiles(twice)).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(await sandbox.files.exists("x2")).toBe(false);
  });

  it("lists name sockets, pipes and broken links where they are asked for, without a type", async () => {
    await sandbox.commands.run(
      "mkdir -p others/dir && cd others && mkfifo pipe && ln -s nowhere broken && ln -s pipe to-pipe && touch file",
    );
    expect((await sandbox.files.list("others")).map(({ name }) => name)).toEqual(["dir", "file"]);
    const all = await sandbox.files.list("others", { includeOther: true });
    expect(all.map(({ name, type }) => [name, type])).toEqual([
      ["broken", undefined],
      ["dir", "dir"],
      ["file", "file"],
      ["pipe", undefined],
      ["to-pipe", undefined],
    ]);
  });

  it("FIL-22: lists have the asked depth, and 10 000 entries are all there", async () => {
    await sandbox.commands.run(
      "p=deep; for i in 1 2 3 4 5 6; do p=$p/$i; mkdir -p $p; touch $p/f; done; mkdir ten; cd ten; seq 10000 | xargs touch",
    );
    for (const depth of [1, 3, 5, 10]) {
      expect(await sandbox.files.list("deep", { depth })).toHaveLength(Math.min(depth, 6) * 2 - (depth < 7 ? 1 : 0));
    }
    for (const depth of [0, -1]) await expect(sandbox.files.list("deep", { depth })).rejects.toBeInstanceOf(InvalidArgumentError);
    const names = (await sandbox.files.list("ten")).map(({ name }) => name);
    expect(new Set(names).size).toBe(10_000);
    expect(names).toEqual([...names].sort());
  });

  it("FIL-24: loops of links are told quickly and never followed", async () => {
    await sandbox.commands.run("mkdir loop && cd loop && ln -s b a && ln -s a b && ln -s .. up && touch f");
    for (const call of [() => sandbox.files.list("loop/a"), () => sandbox.files.read("loop/a")]) {
      const failure = await call().catch((error: unknown) => error);
      expect(failure instanceof FailedPreconditionError || failure instanceof FileNotFoundError).toBe(true);
    }
    expect((await sandbox.files.list("loop", { depth: 10 })).map(({ name }) => name)).toEqual(["f", "up"]);
  });

  it("FIL-26: labels are kept in lower case and cleared by the next write", async () => {
    await sandbox.files.write("l", "x", { metadata: { "Up-Case": "v" } });
    expect((await sandbox.files.getInfo("l")).metadata).toEqual({ "up-case": "v" });
    await sandbox.files.write("l", "x");
    expect((await sandbox.files.getInfo("l")).metadata).toBeUndefined();
    for (const value of ["ok\n", "é"]) {
      await expect(sandbox.files.write("l", "x", { metadata: { a: value } })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("FIL-27: a download URL names the file in every script, until it expires", async () => {
    const name = '日本 "q" 🚀.json';
    await sandbox.files.write(name, "{}");
    const answer = await fetch(await sandbox.downloadUrl(name, { useSignatureExpiration: 60 }));
    expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([200, "{}", "application/json"]);
    expect(answer.headers.get("content-disposition")).toContain(`filename*=UTF-8''${encodeURIComponent(name)}`);
    expect((await fetch(await sandbox.downloadUrl(name, { useSignatureExpiration: -10 }))).status).toBe(401);
    const form = new FormData();
    form.append("file", new Blob(["posted"]), "posted.txt");
    expect((await fetch(await sandbox.uploadUrl("by-url", { useSignatureExpiration: 60 }), { method: "POST", body: form })).status).toBe(
      200,
    );
    expect(await sandbox.files.read("by-url")).toBe("posted");
    expect((await fetch(await sandbox.uploadUrl("late", { useSignatureExpiration: -10 }), { method: "POST", body: form })).status).toBe(
      401,
    );
    expect(await sandbox.files.exists("late")).toBe(false);
  });

  it("FIL-28: an error is never content", async () => {
    for (const format of ["text", "bytes", "blob", "stream"] as const) {
      await expect(sandbox.files.read("missing", { format })).rejects.toBeInstanceOf(FileNotFoundError);
    }
  });

  it("FIL-37: a command sees what was written at once, 100 times", async () => {
    for (let round = 0; round < 100; round += 1) {
      await sandbox.files.write("now", `round ${round}`);
      expect((await sandbox.commands.run("cat now")).stdout).toBe(`round ${round}`);
    }
  });

  it("FIL-03: a stream is sent as it comes, and neither side holds it", { timeout: 120_000 }, async () => {
    const CHUNK = new Uint8Array(1 << 20);
    const TOTAL = 256;
    let produced = 0;
    const baseline = await daemonRssMib(sandbox);
    let highest = baseline;
    async function* source() {
      for (; produced < TOTAL; produced += 1) {
        if (produced % 32 === 31) highest = Math.max(highest, await daemonRssMib(sandbox));
        yield CHUNK;
      }
    }
    await sandbox.files.write("big", source());
    expect((await sandbox.files.getInfo("big")).size).toBe(TOTAL << 20);
    let size = 0;
    for await (const chunk of await sandbox.files.read("big", { format: "stream" })) size += chunk.length;
    expect(size).toBe(TOTAL << 20);
    expect(Math.max(highest, await daemonRssMib(sandbox)) - baseline).toBeLessThan(48);
    await sandbox.files.remove("big");
  });

  it("directories go up and come back the same, over our endpoints and over tar", async () => {
    await mkdir(join(local, "in/sub/empty"), { recursive: true });
    await writeFile(join(local, "in/sub/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
    await writeFile(join(local, "in/é.bin"), Buffer.alloc(1_500_000, 9));
    await writeFile(join(local, "in/skip.log"), "x");
    for (const [name, by] of [
      ["ours", sandbox],
      ["theirs", foreign],
    ] as const) {
      expect(await uploadDir(by, join(local, "in"), `dirs/${name}`, { ignore: ["*.log"] })).toEqual({ entryCount: 4, bytes: 1_500_019 });
      expect((await sandbox.commands.run(`cd dirs/${name} && sub/run.sh && stat -c '%U %a' sub/run.sh`)).stdout).toBe("ran\nuser 755\n");
      await downloadDir(by, `dirs/${name}`, join(local, name));
      expect((await readdir(join(local, name), { recursive: true })).sort()).toEqual(["sub", "sub/empty", "sub/run.sh", "é.bin"]);
      expect((await readFile(join(local, name, "é.bin"))).equals(await readFile(join(local, "in/é.bin")))).toBe(true);
      execFileSync(join(local, name, "sub/run.sh"));
    }
  });

  it("WAT-05: killing the sandbox ends its watches once, with a typed error", async () => {
    const doomed = await Sandbox.create("base", { ...options, timeoutMs: 60_000 });
    const exits: unknown[] = [];
    const events: FilesystemEvent[] = [];
    await doomed.files.watchDir("/home/user", (event) => void events.push(event), {
      timeoutMs: 0,
      onExit: (error) => void exits.push(error),
    });
    await doomed.files.write("seen", "x");
    await expect.poll(() => events.map(({ name }) => name)).toContain("seen");
    await doomed.kill();
    await expect.poll(() => exits.length).toBe(1);
    expect(SandboxError.isInstance(exits[0])).toBe(true);
    expect(exits[0]).toMatchObject({ reason: "sandbox_gone" });
  });

  it("WAT-11: a watch ends after its own timeout and goes on without one", async () => {
    await sandbox.files.makeDir("timed");
    const exit = new Promise((resolve) => {
      void sandbox.files.watchDir("timed", () => {}, { timeoutMs: 500, onExit: resolve });
    });
    const names: string[] = [];
    const endless = await sandbox.files.watchDir("timed", ({ name }) => void names.push(name), { timeoutMs: 0, recursive: true });
    expect(await exit).toMatchObject({ name: "TimeoutError" });
    await sandbox.files.write("timed/later/f", "x");
    await expect.poll(() => names).toContain("later/f");
    await endless.stop();
  });
});

/** Memory of the daemon, which is the only `node` in a fresh sandbox. */
async function daemonRssMib(sandbox: Sandbox): Promise<number> {
  const { stdout } = await sandbox.commands.run("cat /proc/$(pgrep -o -f daemon.mjs)/status", { user: "root" });
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(stdout)?.[1]) / 1024;
}
