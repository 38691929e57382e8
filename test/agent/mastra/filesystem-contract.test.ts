import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { FilesystemError, LocalFilesystem, type WorkspaceFilesystem } from "@mastra/core/workspace";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import { AgentSandboxFilesystem } from "../../../src/agent/mastra/agent-sandbox-filesystem.js";
import { describeOnPlatform } from "../../support/platform.js";

/** Every promise of Mastra's file systems, kept by its own local one and by the one of a sandbox. */
describeOnPlatform("a file system of a Mastra workspace", ({ apiUrl, sandboxUrl, apiKey }) => {
  const kinds: Record<string, () => Promise<{ files: WorkspaceFilesystem; end: () => Promise<unknown> }>> = {
    "of Mastra itself": async () => {
      const basePath = await mkdtemp(path.join(tmpdir(), "mastra-"));
      return { files: new LocalFilesystem({ basePath }), end: () => rm(basePath, { recursive: true, force: true }) };
    },
    "of a sandbox": async () => {
      const sandbox = new AgentSandbox({
        create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 },
        workingDirectory: "/home/user/work space",
      });
      return { files: new AgentSandboxFilesystem({ sandbox }), end: () => sandbox._destroy() };
    },
  };

  describe.each(Object.keys(kinds))("%s", (kind) => {
    let files: WorkspaceFilesystem;
    let end: () => Promise<unknown>;
    let dir: string;
    let count = 0;
    beforeAll(async () => {
      ({ files, end } = await (kinds[kind] as () => Promise<{ files: WorkspaceFilesystem; end: () => Promise<unknown> }>)());
    });
    afterAll(() => end());
    beforeEach(() => {
      dir = `case ${++count}`;
    });

    const fails = async (call: Promise<unknown>, name: string, code: string) => {
      const error = await call.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(FilesystemError);
      expect(error).toMatchObject({ name, code });
    };
    const text = (at: string) => files.readFile(at, { encoding: "utf-8" });
    const names = async (at: string, options = {}) => (await files.readdir(at, options)).map(({ name }) => name).sort();

    it("writes and reads text and bytes, and makes directories on the way", async () => {
      await files.writeFile(`${dir}/a/b/ü ✓.txt`, "grüße\n");
      expect(await text(`${dir}/a/b/ü ✓.txt`)).toBe("grüße\n");
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
      await files.writeFile(`${dir}/bytes`, bytes);
      const read = await files.readFile(`${dir}/bytes`);
      expect(Buffer.isBuffer(read)).toBe(true);
      expect(bytes.equals(read as Buffer)).toBe(true);
      expect(await files.readFile(`${dir}/bytes`, { encoding: "base64" })).toBe(bytes.toString("base64"));
      expect(await files.readFile(`${dir}/bytes`, { encoding: "hex" })).toBe(bytes.toString("hex"));
      await files.writeFile(`${dir}/bytes`, new Uint8Array([7]));
      expect(await files.readFile(`${dir}/bytes`, { encoding: "hex" })).toBe("07");
      await files.writeFile(`${dir}/empty`, "");
      expect(await text(`${dir}/empty`)).toBe("");
    });

    it("fails to read what is missing or a directory", async () => {
      await files.mkdir(dir);
      await fails(files.readFile(`${dir}/no`), "FileNotFoundError", "ENOENT");
      await fails(files.readFile(dir), "IsDirectoryError", "EISDIR");
    });

    it("writes over a file only where it may", async () => {
      await files.writeFile(`${dir}/f`, "one", { overwrite: false });
      await fails(files.writeFile(`${dir}/f`, "two", { overwrite: false }), "FileExistsError", "EEXIST");
      expect(await text(`${dir}/f`)).toBe("one");
      await files.writeFile(`${dir}/f`, "two");
      expect(await text(`${dir}/f`)).toBe("two");
      await fails(files.writeFile(`${dir}/no/f`, "x", { recursive: false }), "DirectoryNotFoundError", "ENOENT");
      expect(await files.exists(`${dir}/no`)).toBe(false);
    });

    it("of many that make one file at a time one succeeds", async () => {
      await files.mkdir(dir);
      const writes = Array.from({ length: 5 }, (_, n) => files.writeFile(`${dir}/f`, String(n), { overwrite: false }));
      const results = await Promise.allSettled(writes);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await text(`${dir}/f`)).toBe(String(results.findIndex(({ status }) => status === "fulfilled")));
    });

    it("refuses to write over what changed since it was read", async () => {
      await files.writeFile(`${dir}/f`, "one");
      const { modifiedAt } = await files.stat(`${dir}/f`);
      await files.writeFile(`${dir}/f`, "two", { expectedMtime: modifiedAt });
      await fails(files.writeFile(`${dir}/f`, "three", { expectedMtime: new Date(0) }), "StaleFileError", "ESTALE");
      expect(await text(`${dir}/f`)).toBe("two");
      await files.writeFile(`${dir}/new`, "x", { expectedMtime: new Date(0) });
      expect(await text(`${dir}/new`)).toBe("x");
    });

    it("appends, and makes what is missing", async () => {
      await files.appendFile(`${dir}/x/log`, "one\n");
      await files.appendFile(`${dir}/x/log`, Buffer.from("zwö\n"));
      expect(await text(`${dir}/x/log`)).toBe("one\nzwö\n");
      await Promise.all(Array.from({ length: 8 }, (_, n) => files.appendFile(`${dir}/many`, `${String(n).repeat(50)}\n`)));
      const lines = String(await text(`${dir}/many`))
        .trimEnd()
        .split("\n");
      expect(lines.sort()).toEqual(Array.from({ length: 8 }, (_, n) => String(n).repeat(50)));
    });

    it("deletes files, not directories", async () => {
      await files.writeFile(`${dir}/f`, "x");
      await files.deleteFile(`${dir}/f`);
      expect(await files.exists(`${dir}/f`)).toBe(false);
      await fails(files.deleteFile(`${dir}/f`), "FileNotFoundError", "ENOENT");
      await files.deleteFile(`${dir}/f`, { force: true });
      await fails(files.deleteFile(dir), "IsDirectoryError", "EISDIR");
    });

    it("copies files and, where it is told, directories", async () => {
      await files.writeFile(`${dir}/f`, "x");
      await files.copyFile(`${dir}/f`, `${dir}/deep/er/g`);
      expect(await text(`${dir}/deep/er/g`)).toBe("x");
      await files.writeFile(`${dir}/f`, "y");
      await fails(files.copyFile(`${dir}/f`, `${dir}/deep/er/g`, { overwrite: false }), "FileExistsError", "EEXIST");
      await files.copyFile(`${dir}/f`, `${dir}/deep/er/g`);
      expect(await text(`${dir}/deep/er/g`)).toBe("y");
      await files.copyFile(`${dir}/f`, `${dir}/h`, { overwrite: false });
      expect(await text(`${dir}/h`)).toBe("y");
      await fails(files.copyFile(`${dir}/no`, `${dir}/z`), "FileNotFoundError", "ENOENT");
      await fails(files.copyFile(`${dir}/deep`, `${dir}/z`), "IsDirectoryError", "EISDIR");
      await files.copyFile(`${dir}/deep`, `${dir}/z`, { recursive: true });
      expect(await text(`${dir}/z/er/g`)).toBe("y");
      await files.writeFile(`${dir}/z/er/g`, "kept");
      await files.writeFile(`${dir}/deep/er/new`, "n");
      await files.copyFile(`${dir}/deep`, `${dir}/z`, { recursive: true, overwrite: false });
      expect([await text(`${dir}/z/er/g`), await text(`${dir}/z/er/new`)]).toEqual(["kept", "n"]);
      await files.copyFile(`${dir}/deep`, `${dir}/z`, { recursive: true });
      expect(await text(`${dir}/z/er/g`)).toBe("y");
    });

    it("moves files and directories", async () => {
      await files.writeFile(`${dir}/f`, "x");
      await files.moveFile(`${dir}/f`, `${dir}/deep/g`);
      expect([await files.exists(`${dir}/f`), await text(`${dir}/deep/g`)]).toEqual([false, "x"]);
      await files.writeFile(`${dir}/f`, "y");
      await fails(files.moveFile(`${dir}/f`, `${dir}/deep/g`, { overwrite: false }), "FileExistsError", "EEXIST");
      expect(await text(`${dir}/f`)).toBe("y");
      await files.moveFile(`${dir}/f`, `${dir}/deep/g`);
      expect(await text(`${dir}/deep/g`)).toBe("y");
      await files.moveFile(`${dir}/deep/g`, `${dir}/deep/h`, { overwrite: false });
      await files.moveFile(`${dir}/deep`, `${dir}/moved`);
      expect(await names(`${dir}/moved`)).toEqual(["h"]);
      await fails(files.moveFile(`${dir}/no`, `${dir}/z`), "FileNotFoundError", "ENOENT");
    });

    it("makes and removes directories", async () => {
      await files.mkdir(`${dir}/a/b`, { recursive: true });
      await files.mkdir(`${dir}/a/b`, { recursive: true });
      await files.mkdir(`${dir}/a`);
      await files.mkdir(`${dir}/c`, { recursive: false });
      await fails(files.mkdir(`${dir}/no/d`, { recursive: false }), "DirectoryNotFoundError", "ENOENT");
      await files.writeFile(`${dir}/f`, "x");
      await fails(files.mkdir(`${dir}/f`), "FileExistsError", "EEXIST");
      await fails(files.rmdir(`${dir}/a`), "DirectoryNotEmptyError", "ENOTEMPTY");
      await files.rmdir(`${dir}/a/b`);
      await files.rmdir(`${dir}/a`, { recursive: true });
      await files.writeFile(`${dir}/c/d/e`, "x");
      await files.rmdir(`${dir}/c`, { recursive: true });
      expect(await names(dir)).toEqual(["f"]);
      await fails(files.rmdir(`${dir}/no`), "DirectoryNotFoundError", "ENOENT");
      await files.rmdir(`${dir}/no`, { force: true });
      await fails(files.rmdir(`${dir}/f`), "NotDirectoryError", "ENOTDIR");
    });

    it("lists directories, deeper and by extension where it is told", async () => {
      for (const name of ["a.ts", "b.py", ".hidden", "sub/c.ts", "sub/deep/d.ts"]) await files.writeFile(`${dir}/${name}`, "12345");
      const entries = await files.readdir(dir);
      expect(entries.find(({ name }) => name === "a.ts")).toMatchObject({ type: "file", size: 5 });
      expect(entries.find(({ name }) => name === "sub")).toMatchObject({ type: "directory" });
      expect(entries.map(({ name }) => name).sort()).toEqual([".hidden", "a.ts", "b.py", "sub"]);
      const all = [".hidden", "a.ts", "b.py", "sub", "sub/c.ts", "sub/deep", "sub/deep/d.ts"];
      expect(await names(dir, { recursive: true })).toEqual(all);
      expect(await names(dir, { recursive: true, maxDepth: 1 })).toEqual(all.slice(0, -1));
      expect(await names(dir, { recursive: true, maxDepth: 0 })).toEqual([".hidden", "a.ts", "b.py", "sub"]);
      expect(await names(dir, { extension: ".ts" })).toEqual(["a.ts", "sub"]);
      expect(await names(dir, { extension: ["py", ".md"] })).toEqual(["b.py", "sub"]);
      await fails(files.readdir(`${dir}/no`), "DirectoryNotFoundError", "ENOENT");
      await fails(files.readdir(`${dir}/a.ts`), "NotDirectoryError", "ENOTDIR");
      await files.mkdir(`${dir}/empty`);
      expect(await files.readdir(`${dir}/empty`)).toEqual([]);
      expect(await names(".")).toContain(dir);
    });

    it("describes files and directories", async () => {
      await files.writeFile(`${dir}/picture.png`, "12345");
      const file = await files.stat(`${dir}/picture.png`);
      expect(file).toMatchObject({ name: "picture.png", type: "file", size: 5, mimeType: "image/png" });
      expect(file.path.endsWith(`${dir}/picture.png`)).toBe(true);
      expect(Date.now() - file.modifiedAt.getTime()).toBeLessThan(60_000);
      expect(file.createdAt).toBeInstanceOf(Date);
      expect(await files.stat(dir)).toMatchObject({ name: dir, type: "directory" });
      await fails(files.stat(`${dir}/no`), "FileNotFoundError", "ENOENT");
      expect(await files.exists(dir)).toBe(true);
      expect(await files.exists(`${dir}/picture.png`)).toBe(true);
    });

    it("takes names that are hard for shells", async () => {
      for (const name of [
        "-rf",
        "a b",
        "it's",
        'q"q',
        "$HOME",
        "`id`",
        "new\nline",
        "end\n",
        "*",
        "back\\slash",
        "~tilde",
        "#x",
        "ünï ✓ 🎉",
        " ",
      ]) {
        const at = `${dir}/${name}`;
        await files.writeFile(at, name);
        await files.appendFile(at, "+");
        await files.appendFile(`${dir}/${name}.d/below`, "deep");
        expect(await text(`${dir}/${name}.d/below`)).toBe("deep");
        await files.rmdir(`${dir}/${name}.d`, { recursive: true });
        await files.copyFile(at, `${dir}/at${name}/${name}`, { overwrite: false });
        await files.rmdir(`${dir}/at${name}`, { recursive: true });
        await files.copyFile(at, `${at}.copy`);
        await files.moveFile(`${at}.copy`, `${at}.moved`, { overwrite: false });
        expect(await text(`${at}.moved`)).toBe(`${name}+`);
        expect(await names(dir)).toContain(name);
        await files.deleteFile(at);
        await files.deleteFile(`${at}.moved`);
      }
      expect(await files.readdir(dir)).toEqual([]);
    });
  });
});
