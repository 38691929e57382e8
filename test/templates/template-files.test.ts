import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTemplateContext } from "../../src/node/template-files.js";
import { readTar } from "../../src/shared/tar-reader.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "abx-context-"));
  mkdirSync(join(root, "app/sub dir/.deep"), { recursive: true });
  mkdirSync(join(root, "app/empty"));
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, ".git/config"), "git");
  writeFileSync(join(root, ".env"), "secret");
  writeFileSync(join(root, "app/a.txt"), "A");
  writeFileSync(join(root, "app/sub dir/b.txt"), "B");
  writeFileSync(join(root, "app/sub dir/.deep/c"), "C");
  symlinkSync("a.txt", join(root, "app/in"));
  symlinkSync("/etc/hostname", join(root, "app/out"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = (directory = root, ignorePatterns: readonly string[] = []) =>
  openTemplateContext({ contextPath: directory, ignorePatterns, stack: undefined });
const copy = (source: string, resolveSymlinks = false) => ({ source, destination: "app/", resolveSymlinks });
const hashOf = (source: string, directory = root) => context(directory).hash(copy(source));

async function namesOf(source: string, ignorePatterns: readonly string[] = [], resolveSymlinks = false): Promise<string[]> {
  const archive = await context(root, ignorePatterns).pack(copy(source, resolveSymlinks), { gzip: false });
  try {
    const names: string[] = [];
    for await (const { entry } of readTar(archive.read())) {
      names.push(`${entry.kind} ${entry.path}${entry.linkPath === "" ? "" : ` -> ${entry.linkPath}`}`);
    }
    return names;
  } finally {
    await archive.dispose();
  }
}

describe("TPL-04: the hash of files", () => {
  it.each(["app", ".", "app/**", "a*"])("of %j changes with contents, modes, names, link targets and empty directories", async (source) => {
    const hashes = [await hashOf(source)];
    const change = async (work: () => void) => {
      work();
      hashes.push(await hashOf(source));
    };
    await change(() => writeFileSync(join(root, "app/sub dir/.deep/c"), "changed"));
    await change(() => chmodSync(join(root, "app/a.txt"), 0o600));
    await change(() => renameSync(join(root, "app/sub dir/b.txt"), join(root, "app/sub dir/d.txt")));
    await change(() => {
      unlinkSync(join(root, "app/in"));
      symlinkSync("sub dir", join(root, "app/in"));
    });
    await change(() => mkdirSync(join(root, "app/empty2")));
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("does not change with times, the place of the context, the working directory or the order on the disk", async () => {
    const before = await hashOf("app");
    utimesSync(join(root, "app/a.txt"), new Date(0), new Date(0));
    expect(await hashOf("app")).toBe(before);
    const other = mkdtempSync(join(tmpdir(), "abx-context-"));
    try {
      // Made in another order, so the directory lists them in another order.
      for (const name of ["sub dir", "out", "in", "empty", "a.txt"]) {
        cpSync(join(root, "app", name), join(other, "app", name), { recursive: true, verbatimSymlinks: true, mode: 0 });
      }
      expect(readlinkSync(join(other, "app/in"))).toBe("a.txt");
      expect(await hashOf("app", other)).toBe(before);
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("differs between sources and destinations of the same files", async () => {
    expect(await hashOf("app")).not.toBe(await hashOf("./app/"));
    const elsewhere = await context().hash({ ...copy("app"), destination: "other/" });
    expect(elsewhere).not.toBe(await hashOf("app"));
  });
});

describe("TPL-05: the files of a context", () => {
  const all = [
    "directory .git",
    "file .git/config",
    "file .env",
    "directory app",
    "file app/a.txt",
    "directory app/empty",
    "symlink app/in -> a.txt",
    "symlink app/out -> /etc/hostname",
    "directory app/sub dir",
    "directory app/sub dir/.deep",
    "file app/sub dir/.deep/c",
    "file app/sub dir/b.txt",
  ];

  it("are all of them: dot files, nested, empty directories, blanks and links", async () => {
    expect((await namesOf(".")).sort()).toEqual([...all].sort());
  });

  it("leave out what .dockerignore and the given patterns name, with comments and exceptions", async () => {
    writeFileSync(
      join(root, ".dockerignore"),
      "# a comment\n\n.git\n**/*.txt\n!app/a.txt\napp/sub dir\n!app/sub dir/.deep\n.dockerignore\n",
    );
    const names = await namesOf(".", [".env", "/app/o?t"]);
    expect(names.sort()).toEqual(
      [
        "directory app",
        "file app/a.txt",
        "directory app/empty",
        "symlink app/in -> a.txt",
        "directory app/sub dir/.deep",
        "file app/sub dir/.deep/c",
      ].sort(),
    );
  });

  it("anchor patterns at the context, as the rules of Docker do", async () => {
    expect(await namesOf("app", ["*.txt"])).toContain("file app/a.txt");
    expect(await namesOf("app", ["*/*.txt"])).not.toContain("file app/a.txt");
    expect(await namesOf("app", ["*/*.txt"])).toContain("file app/sub dir/b.txt");
  });

  it("that are ignored are not hashed either", async () => {
    const hash = () => context(root, [".env"]).hash(copy("."));
    const before = await hash();
    writeFileSync(join(root, ".env"), "another secret");
    expect(await hash()).toBe(before);
  });

  it("follow links only when asked to", async () => {
    const names = await namesOf("app", [], true);
    expect(names).toContain("file app/in");
    expect(names).toContain("file app/out");
  });

  it("that do not exist are an error that names the source and the context", async () => {
    await expect(hashOf("nothing/*.md")).rejects.toMatchObject({
      name: "FileUploadError",
      message: expect.stringContaining("nothing/*.md"),
    });
  });
});
