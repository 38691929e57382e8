import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AlreadyExistsError, InvalidArgumentError } from "../../src/errors/error-classes.js";
import { createIgnoreRules } from "../../src/shared/ignore-rules.js";
import { type ExtractOptions, extractTar } from "../../src/shared/tar-extract-node.js";
import { encodeTarEntry } from "../../src/shared/tar-header.js";
import { packTar } from "../../src/shared/tar-pack-node.js";

const LONG_NAME = `${"long-".repeat(30)}é日🚀`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "tar-test-"));
  await mkdir(join(root, "in"));
  await mkdir(join(root, "out"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const options = (more: Partial<ExtractOptions> = {}): ExtractOptions => ({
  outsideLinks: "refuse",
  stagedPath: (path) => `${path}.staged`,
  ...more,
});
const pack = (patterns: readonly string[] = []) => packTar(join(root, "in"), { rules: createIgnoreRules(patterns) });
const extract = (source: AsyncIterable<Uint8Array>, more: Partial<ExtractOptions> = {}) =>
  extractTar(source, join(root, "out"), options(more));

async function writeTree(): Promise<void> {
  const tree = join(root, "in");
  await mkdir(join(tree, "sub/deep", LONG_NAME), { recursive: true });
  await mkdir(join(tree, "empty"));
  await writeFile(join(tree, "a.txt"), "A");
  await writeFile(join(tree, "zero"), "");
  await writeFile(join(tree, "sub/deep", LONG_NAME, "f"), "deep");
  await writeFile(join(tree, "large.bin"), Buffer.alloc(3_000_001, 7));
  await writeFile(join(tree, "run.sh"), "#!/bin/sh\n", { mode: 0o750 });
  await chmod(join(tree, "run.sh"), 0o750);
  await symlink("../a.txt", join(tree, "sub/link"));
  await symlink("nowhere", join(tree, "broken"));
  await link(join(tree, "a.txt"), join(tree, "sub/same"));
  await utimes(join(tree, "a.txt"), 1_600_000_000, 1_600_000_000.123456);
  await utimes(join(tree, "empty"), 1_500_000_000, 1_500_000_000);
  await chmod(join(tree, "empty"), 0o500);
}

/** Everything that a round trip must keep. */
async function describeTree(directory: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const name of (await readdir(directory, { recursive: true })).sort()) {
    const path = join(directory, name);
    const stats = await lstat(path);
    found[name] = {
      mode: stats.mode.toString(8),
      mtime: Math.round(stats.mtimeMs),
      ...(stats.isFile() && { content: (await readFile(path)).toString("base64").slice(0, 100), size: stats.size, names: stats.nlink }),
      ...(stats.isSymbolicLink() && { target: await readlink(path) }),
    };
  }
  return found;
}

async function* bytesOf(...entries: (Parameters<typeof encodeTarEntry>[0] | string)[]) {
  for (const entry of entries) {
    if (typeof entry !== "string") yield encodeTarEntry(entry);
    else yield new Uint8Array(Buffer.concat([Buffer.from(entry), Buffer.alloc(-entry.length & 511)]));
  }
  yield new Uint8Array(1024);
}
const entry = (
  kind: "file" | "directory" | "symlink" | "hardlink",
  path: string,
  more: { linkPath?: string; sizeBytes?: number } = {},
) => ({
  kind,
  path,
  mode: 0o644,
  sizeBytes: 0,
  mtimeMs: 0,
  linkPath: "",
  ...more,
});

describe("tar archives", () => {
  it("keep content, modes, times, symbolic and hard links, long and foreign names", async () => {
    await writeTree();
    await extract(pack());
    expect(await describeTree(join(root, "out"))).toEqual(await describeTree(join(root, "in")));
  });

  it("are read by GNU tar, and those of GNU tar are read in each of its formats", async () => {
    await writeTree();
    await pipeline(Readable.from(pack()), createWriteStream(join(root, "ours.tar")));
    execFileSync("tar", ["-xpf", join(root, "ours.tar"), "-C", join(root, "out")]);
    expect(await describeTree(join(root, "out"))).toEqual(await describeTree(join(root, "in")));
    for (const format of ["gnu", "pax", "ustar"]) {
      await rm(join(root, "out"), { recursive: true });
      await mkdir(join(root, "out"));
      if (format === "ustar") await rm(join(root, "in/sub/deep"), { recursive: true });
      execFileSync("tar", [`--format=${format}`, "-cf", join(root, "theirs.tar"), "-C", join(root, "in"), "."]);
      await extract(createReadStream(join(root, "theirs.tar"), { highWaterMark: 1000 }));
      const names = await readdir(join(root, "out"), { recursive: true });
      expect(names.sort()).toEqual((await readdir(join(root, "in"), { recursive: true })).sort());
      expect((await stat(join(root, "out/a.txt"))).nlink).toBe(2);
      expect((await readFile(join(root, "out/large.bin"))).equals(await readFile(join(root, "in/large.bin")))).toBe(true);
    }
  });

  it("leave out what the patterns name, with all that is below", async () => {
    await writeTree();
    await extract(pack(["sub/", "*.bin", "!a.txt", "/zero"]));
    expect((await readdir(join(root, "out"))).sort()).toEqual(["a.txt", "broken", "empty", "run.sh"]);
    await extract(pack(), { isIgnored: createIgnoreRules(["*", "!zero"]).isIgnored });
    expect((await readdir(join(root, "out"))).sort()).toEqual(["a.txt", "broken", "empty", "run.sh", "zero"]);
  });

  it.each([
    ["a parent directory", bytesOf(entry("file", "../evil"))],
    ["a parent directory in the middle", bytesOf(entry("file", "a/../../evil"))],
    ["an absolute path", bytesOf(entry("file", "/tmp/evil"))],
    ["a hard link to the outside", bytesOf(entry("hardlink", "h", { linkPath: "../secret" }))],
    ["a hard link to nothing", bytesOf(entry("hardlink", "h", { linkPath: "none" }))],
    ["a link to the outside", bytesOf(entry("symlink", "l", { linkPath: "../secret" }))],
    ["a link to an absolute path", bytesOf(entry("symlink", "l", { linkPath: "/etc/passwd" }))],
    [
      "a link that other links turn to the outside",
      bytesOf(entry("symlink", "d/up", { linkPath: ".." }), entry("symlink", "x", { linkPath: "d/up/../secret" })),
    ],
    [
      "no archive",
      (async function* () {
        yield new Uint8Array(Buffer.alloc(1024, "x"));
      })(),
    ],
    [
      "an archive that is cut",
      (async function* () {
        yield encodeTarEntry(entry("file", "f", { sizeBytes: 100 }));
      })(),
    ],
  ])("are refused for %s", async (_name, archive) => {
    await writeFile(join(root, "secret"), "s");
    await expect(extract(archive)).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(await readdir(root)).toEqual(["in", "out", "secret"]);
    expect((await readdir(join(root, "out"))).filter((name) => name !== "d")).toEqual([]);
  });

  it("are never written through a link, whether it is new or was there before", async () => {
    await mkdir(join(root, "victim"));
    const through = () => bytesOf(entry("symlink", "l", { linkPath: "../victim" }), entry("file", "l/evil", { sizeBytes: 4 }), "evil");
    await expect(extract(through(), { outsideLinks: "keep" })).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(extract(bytesOf(entry("hardlink", "h", { linkPath: "l/evil" })))).rejects.toBeInstanceOf(InvalidArgumentError);
    await writeFile(join(root, "secret"), "s");
    await symlink(join(root, "secret"), join(root, "out/f"));
    await extract(bytesOf(entry("file", "f", { sizeBytes: 4 }), "evil"));
    expect(await readFile(join(root, "secret"), "utf8")).toBe("s");
    expect(await readFile(join(root, "out/f"), "utf8")).toBe("evil");
    expect(await readdir(join(root, "victim"))).toEqual([]);
  });

  it("replace files and links, but neither a directory by a file nor the other way round", async () => {
    await extract(bytesOf(entry("file", "f", { sizeBytes: 1 }), "1", entry("directory", "d"), entry("hardlink", "h", { linkPath: "f" })));
    await extract(
      bytesOf(
        entry("file", "f", { sizeBytes: 1 }),
        "2",
        entry("symlink", "h", { linkPath: "f" }),
        entry("hardlink", "f", { linkPath: "f" }),
      ),
    );
    expect(await readFile(join(root, "out/h"), "utf8")).toBe("2");
    expect((await readdir(join(root, "out"))).sort()).toEqual(["d", "f", "h"]);
    await expect(extract(bytesOf(entry("file", "d")))).rejects.toBeInstanceOf(AlreadyExistsError);
    await expect(extract(bytesOf(entry("directory", "f")))).rejects.toBeInstanceOf(AlreadyExistsError);
    await expect(extract(bytesOf(entry("file", "f/x")))).rejects.toBeInstanceOf(AlreadyExistsError);
  });

  it("leave no half of a file behind when their source fails", async () => {
    const mine = new Error("cut");
    async function* broken() {
      yield encodeTarEntry(entry("file", "f", { sizeBytes: 1 << 20 }));
      yield new Uint8Array(300_000);
      throw mine;
    }
    await writeFile(join(root, "out/kept"), "k");
    await expect(extract(broken())).rejects.toBe(mine);
    expect(await readdir(join(root, "out"))).toEqual(["kept"]);
  });

  it("drop setuid bits, pipes and devices", async () => {
    execFileSync("mkfifo", [join(root, "in/pipe")]);
    await writeFile(join(root, "in/s"), "");
    await chmod(join(root, "in/s"), 0o4755);
    execFileSync("tar", ["-cf", join(root, "theirs.tar"), "-C", join(root, "in"), "."]);
    await extract(createReadStream(join(root, "theirs.tar")));
    await extract(pack());
    expect(await readdir(join(root, "out"))).toEqual(["s"]);
    expect((await stat(join(root, "out/s"))).mode & 0o7777).toBe(0o755);
  });

  it("fail for a file that shrinks while it is read", async () => {
    await writeFile(join(root, "in/f"), Buffer.alloc(2_000_000));
    const chunks = pack();
    await chunks.next();
    await truncate(join(root, "in/f"), 10);
    await expect(
      (async () => {
        for await (const _ of chunks);
      })(),
    ).rejects.toThrow(/shrank/);
  });
});
