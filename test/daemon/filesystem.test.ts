import { writeFileSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileType } from "../../gen/proto/filesystem/filesystem_pb.js";
import { ALICE, asUser, BOB, codeOf, type FileSandbox, openFileSandbox } from "./support/file-sandbox.js";

let box: FileSandbox;
beforeAll(async () => {
  box = await openFileSandbox();
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

describe("stat", () => {
  it("describes a regular file: names of owner and group, permission bits, exact time", async () => {
    const path = join(box.home, "plain.txt");
    await writeFile(path, "é日🚀");
    await chmod(path, 0o640);
    await chown(path, ALICE.uid, ALICE.gid);
    const { entry } = await box.filesystem.stat({ path });
    expect(entry).toMatchObject({ name: "plain.txt", path, type: FileType.FILE, size: 9n, mode: 0o640, permissions: "-rw-r-----" });
    expect(entry).toMatchObject({ owner: "alice", group: "alice", metadata: {} });
    expect(entry?.symlinkTarget).toBeUndefined();
    const { mtimeNs } = await lstat(path, { bigint: true });
    expect((entry?.modifiedTime?.seconds ?? 0n) * 1_000_000_000n + BigInt(entry?.modifiedTime?.nanos ?? 0)).toBe(mtimeNs);
  });

  it("describes a link by itself, but with the type and mode of its target", async () => {
    const target = join(box.home, "target-dir");
    await mkdir(target, { mode: 0o755 });
    const path = join(box.home, "link");
    await symlink("target-dir", path);
    const { entry } = await box.filesystem.stat({ path });
    expect(entry).toMatchObject({ name: "link", path, type: FileType.DIRECTORY, mode: 0o755, permissions: "Lrwxrwxrwx", owner: "root" });
    expect(entry?.symlinkTarget).toBe(target);
  });

  it("describes a broken link as unspecified, mode 0, leading to itself", async () => {
    const path = join(box.home, "broken");
    await symlink("nowhere", path);
    const { entry } = await box.filesystem.stat({ path });
    expect(entry).toMatchObject({ type: FileType.UNSPECIFIED, mode: 0, symlinkTarget: path, permissions: "Lrwxrwxrwx" });
  });

  it("gives decimal ids where no account has a name, and sees an account as soon as it is added", async () => {
    const path = join(box.home, "strange");
    await writeFile(path, "");
    await chown(path, 54_321, 54_322);
    expect((await box.filesystem.stat({ path })).entry).toMatchObject({ owner: "54321", group: "54322" });
    await writeFile(join(box.root, "etc/passwd"), `${await readFile(join(box.root, "etc/passwd"), "utf8")}carol:x:54321:1::/:/bin/sh\n`);
    expect((await box.filesystem.stat({ path })).entry).toMatchObject({ owner: "carol", group: "54322" });
  });

  it("answers not_found for a missing path, also below a file", async () => {
    await writeFile(join(box.home, "a-file"), "");
    expect(await codeOf(box.filesystem.stat({ path: "missing" }))).toBe("NotFound");
    expect(await codeOf(box.filesystem.stat({ path: "a-file/x" }))).toBe("NotFound");
  });
});

describe("users and paths", () => {
  it("FIL-35: '~', relative and empty paths lead to the home of the user of the call, the same way in list and stat", async () => {
    for (const [user, home] of [
      [ALICE, box.home],
      [BOB, box.bobHome],
    ] as const) {
      await writeFile(join(home, "x"), "");
      const options = asUser(user.name);
      for (const path of ["~/x", "x", "./x", "a/../x", "~/./x", `${home}/x`]) {
        expect((await box.filesystem.stat({ path }, options)).entry?.path).toBe(`${home}/x`);
      }
      for (const path of ["", "~", "~/", "."]) expect((await box.filesystem.stat({ path }, options)).entry?.path).toBe(home);
      const listed = (await box.filesystem.listDir({ path: "~", depth: 1 }, options)).entries.map((entry) => entry.path);
      expect(listed).toContain(`${home}/x`);
    }
  });

  it("FIL-35: an empty path leads to the default working directory when the sandbox has one; relative paths stay below home", async () => {
    box.state.defaultWorkdir = box.root;
    try {
      expect((await box.filesystem.stat({ path: "" })).entry?.path).toBe(box.root);
      expect((await box.filesystem.stat({ path: "." })).entry?.path).toBe(box.home);
    } finally {
      box.state.defaultWorkdir = undefined;
    }
  });

  it("FIL-35: another user's '~' and NUL are invalid_argument, an unknown user is unauthenticated", async () => {
    expect(await codeOf(box.filesystem.stat({ path: "~bob/x" }))).toBe("InvalidArgument");
    expect(await codeOf(box.filesystem.stat({ path: "a\0b" }))).toBe("InvalidArgument");
    expect(await codeOf(box.filesystem.stat({ path: "x" }, asUser("mallory")))).toBe("Unauthenticated");
    expect(await codeOf(box.filesystem.stat({ path: "x" }, { headers: { authorization: "Basic %%%" } }))).toBe("Unauthenticated");
  });

  it("FIL-12: names that begin with dots are names, and only whole '.' and '..' segments are resolved", async () => {
    for (const path of [".env", "..data/x", "a/./b", "a/../c", "..."]) {
      await box.filesystem.makeDir({ path: join("dots", path) });
    }
    const names = (await box.filesystem.listDir({ path: "dots", depth: 3 })).entries.map((entry) => entry.path.slice(box.home.length + 6));
    expect(names).toEqual(["...", "..data", "..data/x", ".env", "a", "a/b", "c"]);
  });
});

describe("makeDir", () => {
  it("FIL-21: makes parents once for the user, then answers already_exists, and invalid_argument over a file", async () => {
    const { entry } = await box.filesystem.makeDir({ path: "mk/b/c" });
    expect(entry).toMatchObject({ path: join(box.home, "mk/b/c"), type: FileType.DIRECTORY, permissions: "drwxr-xr-x", owner: "alice" });
    expect((await box.filesystem.stat({ path: "mk" })).entry).toMatchObject({ owner: "alice", group: "alice", mode: 0o755 });
    expect(await codeOf(box.filesystem.makeDir({ path: "mk/b/c" }))).toBe("AlreadyExists");
    await writeFile(join(box.home, "mk/file"), "");
    expect(await codeOf(box.filesystem.makeDir({ path: "mk/file" }))).toBe("InvalidArgument");
    expect(await codeOf(box.filesystem.makeDir({ path: "mk/file/sub" }))).toBe("Internal");
  });

  it("keeps the owner of directories that exist", async () => {
    await mkdir(join(box.home, "roots"));
    await box.filesystem.makeDir({ path: join(box.home, "roots/x/y") }, asUser(BOB.name));
    expect((await box.filesystem.stat({ path: "roots" })).entry?.owner).toBe("root");
    expect((await box.filesystem.stat({ path: "roots/x" })).entry?.owner).toBe("bob");
  });

  it("lets one of many simultaneous calls win", async () => {
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(box.filesystem.makeDir({ path: "race/a/b" }))));
    expect(codes.filter((code) => code === undefined)).toHaveLength(1);
    expect(codes.filter((code) => code === "AlreadyExists")).toHaveLength(19);
  });
});

describe("move", () => {
  it("replaces an existing file, makes the parents of the destination, and describes the new entry", async () => {
    await writeFile(join(box.home, "from"), "new");
    await mkdir(join(box.home, "mv"));
    await writeFile(join(box.home, "mv/to"), "old");
    expect((await box.filesystem.move({ source: "from", destination: "mv/to" })).entry?.path).toBe(join(box.home, "mv/to"));
    expect(await readFile(join(box.home, "mv/to"), "utf8")).toBe("new");
    await box.filesystem.move({ source: "mv/to", destination: "mv2/deep/to" });
    expect((await box.filesystem.stat({ path: "mv2/deep" })).entry?.owner).toBe("alice");
  });

  it("answers not_found for a missing source and makes nothing for it", async () => {
    expect(await codeOf(box.filesystem.move({ source: "gone", destination: "mv3/x" }))).toBe("NotFound");
    expect(await codeOf(box.filesystem.stat({ path: "mv3" }))).toBe("NotFound");
  });

  it("answers internal when the system refuses", async () => {
    await mkdir(join(box.home, "full/x"), { recursive: true });
    await mkdir(join(box.home, "other"));
    expect(await codeOf(box.filesystem.move({ source: "other", destination: "full" }))).toBe("Internal");
    expect(await codeOf(box.filesystem.stat({ path: "full/x" }))).toBeUndefined();
  });
});

describe("remove", () => {
  it("removes trees and links but not their targets; a missing path is success", async () => {
    await mkdir(join(box.home, "rm/a/b"), { recursive: true });
    await writeFile(join(box.home, "kept"), "1");
    await symlink("../kept", join(box.home, "rm/link"));
    await box.filesystem.remove({ path: "rm/link" });
    expect(await readFile(join(box.home, "kept"), "utf8")).toBe("1");
    await box.filesystem.remove({ path: "rm" });
    await box.filesystem.remove({ path: "rm" });
    await box.filesystem.remove({ path: "kept/below-a-file" });
    expect(await codeOf(box.filesystem.stat({ path: "rm" }))).toBe("NotFound");
  });
});

describe("listDir", () => {
  it("FIL-22: lists exactly the entries down to the depth, parents before children, names in order", async () => {
    const deep = join(box.home, "deep");
    let directory = deep;
    const all: string[] = [];
    for (let level = 1; level <= 6; level++) {
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, "a"), "");
      all.push(join(directory, "a"));
      directory = join(directory, `d${level}`);
      if (level < 6) all.push(directory);
    }
    for (const [depth, levels] of [
      [0, 1],
      [1, 1],
      [3, 3],
      [5, 5],
      [10, 6],
    ] as const) {
      const { entries } = await box.filesystem.listDir({ path: "deep", depth });
      const expected = all.filter((path) => path.slice(deep.length + 1).split("/").length <= levels);
      expect(entries.map((entry) => entry.path)).toEqual(expected);
    }
  });

  it("FIL-22: lists 10 000 entries completely", async () => {
    const many = join(box.home, "many");
    await mkdir(many);
    for (let index = 0; index < 10_000; index++) writeFileSync(join(many, `f${index}`), "");
    const { entries } = await box.filesystem.listDir({ path: many, depth: 1 });
    expect(new Set(entries.map((entry) => entry.name)).size).toBe(10_000);
    await rm(many, { recursive: true });
  });

  it("FIL-24: answers failed_precondition for a loop of links and does not follow links below the root", async () => {
    const loops = join(box.home, "loops");
    await mkdir(join(loops, "sub"), { recursive: true });
    await symlink("b", join(loops, "a"));
    await symlink("a", join(loops, "b"));
    await symlink("..", join(loops, "sub/up"));
    expect(await codeOf(box.filesystem.listDir({ path: "loops/a" }))).toBe("FailedPrecondition");
    const { entries } = await box.filesystem.listDir({ path: "loops", depth: 10 });
    expect(entries.map((entry) => entry.path.slice(loops.length + 1))).toEqual(["a", "b", "sub", "sub/up"]);
  });

  it("follows a link as root and reports paths below it", async () => {
    await mkdir(join(box.home, "real/x"), { recursive: true });
    await symlink("real", join(box.home, "alias"));
    expect((await box.filesystem.listDir({ path: "alias" })).entries.map((entry) => entry.path)).toEqual([join(box.home, "alias/x")]);
  });

  it("answers not_found and invalid_argument for what is not a directory", async () => {
    await writeFile(join(box.home, "no-dir"), "");
    expect(await codeOf(box.filesystem.listDir({ path: "nothing" }))).toBe("NotFound");
    expect(await codeOf(box.filesystem.listDir({ path: "no-dir" }))).toBe("InvalidArgument");
  });
});
