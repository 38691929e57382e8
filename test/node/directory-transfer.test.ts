import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FailedPreconditionError, FileNotFoundError, InvalidArgumentError } from "../../src/errors/error-classes.js";
import { type DirectoryProgress, downloadDir, uploadDir } from "../../src/node/directory-transfer.js";
import { type DaemonSandbox, openDaemonSandbox } from "../sandbox/support/daemon-sandbox.js";

let local: string;
beforeEach(async () => {
  local = await mkdtemp(join(tmpdir(), "directory-"));
  await mkdir(join(local, "tree/sub/empty"), { recursive: true });
  await writeFile(join(local, "tree/é日🚀.txt"), "text");
  await writeFile(join(local, "tree/skip.log"), "log");
  await writeFile(join(local, "tree/sub/run.sh"), "#!/bin/sh\necho ran\n");
  await chmod(join(local, "tree/sub/run.sh"), 0o755);
  await writeFile(join(local, "tree/large.bin"), Buffer.alloc(3_000_000, 5));
  await symlink("sub/run.sh", join(local, "tree/link"));
  await link(join(local, "tree/large.bin"), join(local, "tree/same.bin"));
  await utimes(join(local, "tree/large.bin"), 1_600_000_000, 1_600_000_000);
});
afterEach(() => rm(local, { recursive: true, force: true }));

/** What is kept on the way, by path. */
async function describeTree(directory: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const name of await readdir(directory, { recursive: true })) {
    const stats = await lstat(join(directory, name));
    found[name] = [
      stats.mode.toString(8),
      Math.floor(stats.mtimeMs / 1000),
      stats.isSymbolicLink() ? await readlink(join(directory, name)) : stats.isFile() ? stats.size : "",
    ];
  }
  return found;
}

describe.each([
  ["the endpoints of our daemon", true],
  ["a tar program", false],
])("directories over %s", (_name, isBinary) => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox({ isBinary });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("go up and down with modes, times and links, owned by the user inside", async () => {
    const seen: DirectoryProgress[] = [];
    const up = await uploadDir(sandbox, join(local, "tree"), "up/tree", { ignore: ["*.log"], onProgress: (step) => void seen.push(step) });
    expect(up).toEqual({ entryCount: 7, bytes: 3_000_023 });
    expect(seen.at(-1)).toMatchObject(up);
    expect(seen.map(({ bytes }) => bytes)).toEqual(seen.map(({ bytes }) => bytes).sort((a, b) => a - b));
    expect((await sandbox.commands.run("cd up/tree && ./link && ls", { cwd: "" })).stdout).toBe(
      "ran\nlarge.bin\nlink\nsame.bin\nsub\né日🚀.txt\n",
    );
    const owner = (await stat(sandbox.home)).uid;
    expect((await stat(join(sandbox.home, "up/tree/sub/run.sh"))).uid).toBe(owner);
    expect((await stat(join(sandbox.home, "up/tree/sub/empty"))).uid).toBe(owner);

    const down = await downloadDir(sandbox, "up/tree", join(local, "made/down"));
    expect(down).toEqual(up);
    await rm(join(local, "tree/skip.log"));
    expect(await describeTree(join(local, "made/down"))).toEqual(await describeTree(join(local, "tree")));
    expect((await stat(join(local, "made/down/same.bin"))).nlink).toBe(2);
    // Again, over what is there.
    await downloadDir(sandbox, "up/tree", join(local, "made/down"), { ignore: ["sub/", "/large.bin", "same.bin"] });
    expect(await describeTree(join(local, "made/down"))).toEqual(await describeTree(join(local, "tree")));
    await downloadDir(sandbox, "~/up/tree", join(local, "part"), { ignore: ["sub", "*.bin"] });
    expect((await readdir(join(local, "part"))).sort()).toEqual(["link", "é日🚀.txt"]);
  });

  it("an empty directory goes both ways", async () => {
    await mkdir(join(local, "nothing"));
    expect(await uploadDir(sandbox, join(local, "nothing"), "void")).toEqual({ entryCount: 0, bytes: 0 });
    expect((await sandbox.files.getInfo("void")).type).toBe("dir");
    expect(await downloadDir(sandbox, "void", join(local, "void"))).toEqual({ entryCount: 0, bytes: 0 });
    expect(await readdir(join(local, "void"))).toEqual([]);
  });

  it("links that lead out of the directory are refused unless asked for", async () => {
    await sandbox.commands.run("mkdir -p hostile && ln -s /etc/passwd hostile/z-out && echo x > hostile/a");
    await expect(downloadDir(sandbox, "hostile", join(local, "h1"))).rejects.toBeInstanceOf(InvalidArgumentError);
    await downloadDir(sandbox, "hostile", join(local, "h2"), { outsideLinks: "skip" });
    expect(await readdir(join(local, "h2"))).toEqual(["a"]);
    await downloadDir(sandbox, "hostile", join(local, "h3"), { outsideLinks: "keep" });
    expect(await readlink(join(local, "h3/z-out"))).toBe("/etc/passwd");
    // Nor is a link followed that was on this machine before.
    await mkdir(join(local, "elsewhere"));
    await mkdir(join(local, "h4"));
    await symlink(join(local, "elsewhere"), join(local, "h4/sub"));
    await uploadDir(sandbox, join(local, "tree"), "linked");
    await expect(downloadDir(sandbox, "linked", join(local, "h4"))).rejects.toThrow(/through the link/);
    expect(await readdir(join(local, "elsewhere"))).toEqual([]);
  });

  it("what cannot be meant is refused with a typed error", async () => {
    await sandbox.files.write("plain", "x");
    await expect(downloadDir(sandbox, "missing", join(local, "x"))).rejects.toBeInstanceOf(FileNotFoundError);
    await expect(uploadDir(sandbox, join(local, "missing"), "x")).rejects.toBeInstanceOf(FileNotFoundError);
    await expect(uploadDir(sandbox, join(local, "tree/large.bin"), "x")).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(uploadDir(sandbox, join(local, "tree"), "plain")).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(uploadDir(sandbox, join(local, "tree"), "x", { ignore: ["a\nb"] })).rejects.toBeInstanceOf(InvalidArgumentError);
    await sandbox.files.write("bomb/f", new Uint8Array(300_000));
    await expect(downloadDir(sandbox, "bomb", join(local, "bomb"), { maxBytes: 200_000 })).rejects.toBeInstanceOf(FailedPreconditionError);
    expect(await readdir(join(local, "bomb"))).toEqual([]);
    await expect(sandbox.files.writeArchive("garbage", "no archive")).rejects.toMatchObject({ operation: "files.writeArchive" });
  });

  it("an abort ends the transfer with its reason and leaves no half of a file", async () => {
    const reason = new Error("stop");
    const abortLater = () => {
      const controller = new AbortController();
      const onProgress = ({ bytes }: DirectoryProgress) => {
        if (bytes > 500_000) controller.abort(reason);
      };
      return { signal: controller.signal, onProgress };
    };
    await writeFile(join(local, "tree/a.bin"), Buffer.alloc(20_000_000, 1));
    await expect(uploadDir(sandbox, join(local, "tree"), "cut", abortLater())).rejects.toBe(reason);
    await sandbox.commands.run("mkdir full && head -c 20000000 /dev/zero > full/a.bin");
    await expect(downloadDir(sandbox, "full", join(local, "cut"), abortLater())).rejects.toBe(reason);
    expect(await readdir(join(local, "cut"))).toEqual([]);
    await expect(downloadDir(sandbox, "full", join(local, "cut"), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const mine = new Error("mine");
    const onProgress = () => {
      throw mine;
    };
    await expect(uploadDir(sandbox, join(local, "tree"), "cut", { onProgress })).rejects.toBe(mine);
    await expect.poll(async () => (await sandbox.commands.list()).length).toBe(0);
  });

  it("a replaced file has its new content or its old one", async () => {
    await uploadDir(sandbox, join(local, "tree"), "again");
    await writeFile(join(local, "tree/large.bin"), "now small");
    await uploadDir(sandbox, join(local, "tree"), "again");
    expect(await sandbox.files.read("again/large.bin")).toBe("now small");
    expect(await readFile(join(sandbox.home, "again/same.bin"), "utf8")).toBe("now small");
  });
});
