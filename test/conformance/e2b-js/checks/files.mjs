import assert from "node:assert/strict";
import { Sandbox } from "e2b";
import { bytesOfStream, rejectsWith } from "../harness.mjs";

const BYTES = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256);

export const files = {
  title: "files",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
    return { sandbox, files: sandbox.files };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "write text and read it in every format": async ({ files }) => {
      const text = "héllo\nwörld 🎉";
      const info = await files.write("text.txt", text);
      assert.deepEqual(
        { name: info.name, type: info.type, path: info.path },
        { name: "text.txt", type: "file", path: "/home/user/text.txt" },
      );
      assert.equal(await files.read("text.txt"), text);
      assert.equal(await files.read("text.txt", { format: "text" }), text);
      const bytes = await files.read("text.txt", { format: "bytes" });
      assert.ok(bytes instanceof Uint8Array);
      assert.equal(new TextDecoder().decode(bytes), text);
      const blob = await files.read("text.txt", { format: "blob" });
      assert.ok(blob instanceof Blob);
      assert.equal(await blob.text(), text);
      assert.equal(new TextDecoder().decode(await bytesOfStream(await files.read("text.txt", { format: "stream" }))), text);
    },
    "write bytes, a Blob and a stream": async ({ files }) => {
      await files.write("bytes.bin", BYTES.buffer);
      assert.deepEqual(await files.read("bytes.bin", { format: "bytes" }), BYTES);
      await files.write("blob.bin", new Blob([BYTES]));
      assert.deepEqual(await files.read("blob.bin", { format: "bytes" }), BYTES);
      await files.write("stream.bin", new Blob([BYTES]).stream());
      assert.deepEqual(await files.read("stream.bin", { format: "bytes" }), BYTES);
    },
    "write as octet-stream": async ({ files }) => {
      const info = await files.write("octet.bin", BYTES.buffer, { useOctetStream: true });
      assert.equal(info.path, "/home/user/octet.bin");
      assert.deepEqual(await files.read("octet.bin", { format: "bytes" }), BYTES);
    },
    "write and read with gzip": async ({ files }) => {
      await files.write("packed.bin", BYTES.buffer, { gzip: true });
      assert.deepEqual(await files.read("packed.bin", { format: "bytes" }), BYTES);
      assert.deepEqual(await files.read("packed.bin", { format: "bytes", gzip: true }), BYTES);
      assert.deepEqual(await bytesOfStream(await files.read("packed.bin", { format: "stream", gzip: true })), BYTES);
    },
    "an empty file in every format": async ({ files }) => {
      await files.write("empty", "");
      assert.equal(await files.read("empty"), "");
      assert.equal((await files.read("empty", { format: "bytes" })).length, 0);
      assert.equal((await files.read("empty", { format: "blob" })).size, 0);
      assert.equal((await bytesOfStream(await files.read("empty", { format: "stream" }))).length, 0);
    },
    "write many at once": async ({ files }) => {
      const entries = [
        { path: "many/a.txt", data: "A" },
        { path: "/tmp/many/deep/b.txt", data: new Blob(["B"]) },
        { path: "many/ü and space.txt", data: BYTES.buffer },
      ];
      const infos = await files.write(entries);
      assert.deepEqual(
        infos.map(({ path }) => path),
        ["/home/user/many/a.txt", "/tmp/many/deep/b.txt", "/home/user/many/ü and space.txt"],
      );
      assert.equal(await files.read("/home/user/many/a.txt"), "A");
      assert.equal(await files.read("/tmp/many/deep/b.txt"), "B");
      assert.deepEqual(await files.read("many/ü and space.txt", { format: "bytes" }), BYTES);
      assert.equal((await files.writeFiles([{ path: "one.txt", data: "1" }])).length, 1);
      assert.deepEqual(await files.write([]), []);
      const streams = await files.write([
        { path: "s1", data: new Blob(["s1"]).stream() },
        { path: "s2", data: "s2" },
      ]);
      assert.deepEqual(
        streams.map(({ name }) => name),
        ["s1", "s2"],
      );
      assert.equal(await files.read("s1"), "s1");
    },
    "write overwrites and truncates": async ({ files }) => {
      await files.write("again.txt", "a long first content");
      await files.write("again.txt", "short");
      assert.equal(await files.read("again.txt"), "short");
    },
    "write makes missing parents, owned by the user": async ({ files }) => {
      await files.write("p1/p2/p3/file", "x");
      const info = await files.getInfo("p1/p2/p3");
      assert.deepEqual([info.owner, info.group, info.permissions], ["user", "user", "drwxr-xr-x"]);
    },
    "write as root": async ({ files }) => {
      await files.write("/root/secret.txt", "s", { user: "root" });
      assert.equal((await files.getInfo("secret.txt", { user: "root" })).path, "/root/secret.txt");
      assert.equal(await files.read("secret.txt", { user: "root" }), "s");
      assert.equal((await files.getInfo("/root/secret.txt")).owner, "root");
    },
    "metadata is kept, replaced and cleared": async ({ files }) => {
      const written = await files.write("meta.txt", "m", { metadata: { Purpose: "test", other: "1 2" } });
      assert.deepEqual(written.metadata, { purpose: "test", other: "1 2" });
      assert.deepEqual((await files.getInfo("meta.txt")).metadata, { purpose: "test", other: "1 2" });
      await files.write("meta.txt", "m", { metadata: { third: "3" }, useOctetStream: true });
      assert.deepEqual((await files.getInfo("meta.txt")).metadata, { third: "3" });
      await files.write("meta.txt", "m");
      assert.equal(Object.keys((await files.getInfo("meta.txt")).metadata ?? {}).length, 0);
    },
    "list to a depth, in order": async ({ files }) => {
      await files.write([
        { path: "tree/b/deep/file", data: "1" },
        { path: "tree/a", data: "22" },
      ]);
      const names = async (options) => (await files.list("tree", options)).map(({ path }) => path.replace("/home/user/tree/", ""));
      assert.deepEqual(await names(), ["a", "b"]);
      assert.deepEqual(await names({ depth: 2 }), ["a", "b", "b/deep"]);
      assert.deepEqual(await names({ depth: 9 }), ["a", "b", "b/deep", "b/deep/file"]);
      const [first, second] = await files.list("/home/user/tree");
      assert.deepEqual([first.type, first.size, second.type], ["file", 2, "dir"]);
    },
    exists: async ({ files }) => {
      await files.write("there", "");
      assert.equal(await files.exists("there"), true);
      assert.equal(await files.exists("not-there"), false);
      assert.equal(await files.exists("/home/user"), true);
    },
    "getInfo of a file": async ({ files }) => {
      await files.write("info.txt", "12345");
      const info = await files.getInfo("info.txt");
      assert.deepEqual(
        [info.name, info.type, info.path, info.size, info.mode, info.permissions, info.owner, info.group, info.symlinkTarget],
        ["info.txt", "file", "/home/user/info.txt", 5, 0o644, "-rw-r--r--", "user", "user", undefined],
      );
      assert.ok(Math.abs(info.modifiedTime.getTime() - Date.now()) < 60_000);
    },
    "getInfo of a directory and of links": async ({ sandbox, files }) => {
      await sandbox.commands.run(
        "mkdir -p links/dir && echo x > links/file && ln -s file links/to-file && ln -s dir links/to-dir && ln -s gone links/broken",
      );
      const directory = await files.getInfo("links/dir");
      assert.deepEqual([directory.type, directory.permissions], ["dir", "drwxr-xr-x"]);
      const link = await files.getInfo("links/to-file");
      assert.deepEqual([link.type, link.symlinkTarget, link.permissions[0]], ["file", "/home/user/links/file", "L"]);
      assert.equal((await files.getInfo("links/to-dir")).type, "dir");
      assert.equal(await files.read("links/to-file"), "x\n");
    },
    makeDir: async ({ files }) => {
      assert.equal(await files.makeDir("new/nested/dir"), true);
      assert.equal(await files.makeDir("new/nested/dir"), false);
      assert.equal((await files.getInfo("new/nested/dir")).owner, "user");
    },
    "rename replaces and makes parents": async ({ files }) => {
      await files.write("old.txt", "old");
      await files.write("target.txt", "to be replaced");
      assert.equal((await files.rename("old.txt", "target.txt")).path, "/home/user/target.txt");
      assert.equal(await files.read("target.txt"), "old");
      assert.equal(await files.exists("old.txt"), false);
      await files.rename("target.txt", "r1/r2/target.txt");
      assert.equal(await files.read("r1/r2/target.txt"), "old");
    },
    "remove files, directories and nothing": async ({ files }) => {
      await files.write("rm/deep/file", "x");
      await files.remove("rm/deep/file");
      assert.equal(await files.exists("rm/deep/file"), false);
      await files.remove("rm");
      assert.equal(await files.exists("rm"), false);
      await files.remove("rm");
    },
    "paths: home, ~, absolute and ..": async ({ files }) => {
      await files.write("~/tilde.txt", "t");
      assert.equal(await files.read("/home/user/tilde.txt"), "t");
      assert.equal(await files.read("x/../tilde.txt"), "t");
      assert.equal((await files.getInfo("~")).path, "/home/user");
    },
    "a large file goes both ways": async ({ files }) => {
      const chunk = BYTES.subarray(0, 65_536);
      const stream = new ReadableStream({
        start() {
          this.left = 512;
        },
        pull(controller) {
          if (this.left-- === 0) controller.close();
          else controller.enqueue(chunk);
        },
      });
      await files.write("large.bin", stream);
      let size = 0;
      for await (const part of await files.read("large.bin", { format: "stream" })) size += part.length;
      assert.equal(size, 512 * 65_536);
    },
    "an abandoned read stream does no harm": async ({ files }) => {
      const stream = await files.read("large.bin", { format: "stream" });
      const reader = stream.getReader();
      await reader.read();
      await reader.cancel();
      assert.equal(await files.exists("large.bin"), true);
    },
    "write many with every option": async ({ files }) => {
      const entries = (prefix) => [
        { path: `${prefix}/a.txt`, data: "A" },
        { path: `${prefix}/b.bin`, data: BYTES.buffer },
        { path: `${prefix}/c.bin`, data: new Blob([BYTES]).stream() },
      ];
      const metadata = { made: "together" };
      for (const [prefix, options] of [
        ["opt1", { gzip: true, metadata }],
        ["opt2", { useOctetStream: true, metadata }],
        ["opt3", { useOctetStream: false, metadata }],
        ["opt4", { user: "root", metadata }],
      ]) {
        const infos = await files.writeFiles(entries(prefix), options);
        const home = options.user === "root" ? "/root" : "/home/user";
        assert.deepEqual(
          infos.map((info) => [info.path, info.metadata]),
          ["a.txt", "b.bin", "c.bin"].map((name) => [`${home}/${prefix}/${name}`, metadata]),
        );
        assert.deepEqual(await files.read(`${home}/${prefix}/c.bin`, { format: "bytes" }), BYTES);
        assert.deepEqual((await files.getInfo(`${home}/${prefix}/a.txt`)).metadata, metadata);
      }
    },
    "read as a stream with an idle limit": async ({ files }) => {
      await files.write("idle.bin", BYTES.buffer);
      const stream = await files.read("idle.bin", { format: "stream", streamIdleTimeoutMs: 10_000 });
      assert.deepEqual(await bytesOfStream(stream), BYTES);
      const whole = await files.read("idle.bin", { format: "bytes", gzip: true, requestTimeoutMs: 30_000 });
      assert.deepEqual(whole, BYTES);
    },
    "every call takes a user": async ({ files }) => {
      const user = "root";
      await files.write("as-root/f", "x", { user });
      assert.equal(await files.exists("as-root/f", { user }), true);
      assert.equal(await files.exists("as-root/f"), false);
      assert.deepEqual(
        (await files.list("as-root", { user })).map(({ path, owner }) => [path, owner]),
        [["/root/as-root/f", "root"]],
      );
      assert.equal(await files.makeDir("as-root/d", { user }), true);
      assert.equal((await files.getInfo("as-root/d", { user })).owner, "root");
      assert.equal((await files.rename("as-root/f", "as-root/g", { user })).path, "/root/as-root/g");
      assert.equal(new TextDecoder().decode(await files.read("as-root/g", { user, format: "bytes" })), "x");
      await files.remove("as-root", { user });
      assert.equal(await files.exists("/root/as-root"), false);
    },
    "every call takes a signal and a limit": async ({ files }) => {
      await files.write("limited", "x", { requestTimeoutMs: 30_000 });
      await files.list(".", { requestTimeoutMs: 30_000 });
      for (const call of [
        (signal) => files.read("limited", { signal }),
        (signal) => files.write("limited", "y", { signal }),
        (signal) => files.list(".", { signal }),
        (signal) => files.exists("limited", { signal }),
        (signal) => files.getInfo("limited", { signal }),
        (signal) => files.makeDir("limited-dir", { signal }),
        (signal) => files.rename("limited", "limited2", { signal }),
        (signal) => files.remove("limited", { signal }),
        (signal) => files.watchDir(".", () => undefined, { signal }),
      ]) {
        await assert.rejects(call(AbortSignal.abort()));
      }
      assert.equal(await files.read("limited"), "x");
      assert.equal(await files.exists("limited-dir"), false);
    },
    "read a missing file": ({ files }) => rejectsWith(files.read("missing"), "FileNotFoundError"),
    "read a directory": ({ files }) => rejectsWith(files.read("/home/user"), "InvalidArgumentError"),
    "getInfo, list and rename of something missing": async ({ files }) => {
      await rejectsWith(files.getInfo("missing"), "FileNotFoundError");
      await rejectsWith(files.list("missing"), "FileNotFoundError");
      await rejectsWith(files.rename("missing", "elsewhere"), "FileNotFoundError");
    },
    "list a file": async ({ files }) => {
      await files.write("plain", "x");
      await rejectsWith(files.list("plain"), "InvalidArgumentError");
    },
    "list with a depth below 1": ({ files }) => rejectsWith(files.list("/", { depth: 0 }), "InvalidArgumentError"),
    "makeDir over a file": async ({ files }) => {
      await files.write("plain", "x");
      await rejectsWith(files.makeDir("plain"), "InvalidArgumentError");
    },
    "write to a directory": ({ files }) => rejectsWith(files.write("/home/user", "x"), "InvalidArgumentError"),
    "a home of somebody else in a path": async ({ files }) => {
      await rejectsWith(files.read("~root/x"), "InvalidArgumentError");
      await rejectsWith(files.list("~root"), "InvalidArgumentError");
    },
    "an unknown user": async ({ files }) => {
      await rejectsWith(files.read("x", { user: "nobody-here" }), "AuthenticationError");
      await rejectsWith(files.list("/", { user: "nobody-here" }), "AuthenticationError");
      await rejectsWith(files.write("x", "x", { user: "nobody-here" }), "AuthenticationError");
    },
  },
};
