import assert from "node:assert/strict";
import { Sandbox, Volume } from "e2b";
import { bytesOfStream, rejectsWith, textOf } from "../harness.mjs";

/** Volumes: their life, their content from outside, and from inside sandboxes. */
export const volume = {
  title: "volume",
  setUp: async () => ({ volume: await Volume.create(`conformance-js-${process.pid}`) }),
  tearDown: ({ volume }) => Volume.destroy(volume.volumeId),
  checks: {
    "create, list, getInfo and connect tell of one volume": async ({ volume }) => {
      assert.match(volume.token, /^\S+$/);
      const { volumeId, name } = volume;
      assert.ok((await Volume.list()).some((other) => other.volumeId === volumeId && other.name === name));
      const told = await Volume.getInfo(volumeId);
      assert.deepEqual([told.volumeId, told.name, told.token, told.domain], [volumeId, name, volume.token, undefined]);
      assert.equal((await Volume.connect(volumeId)).name, name);
    },
    "a second volume of one name is refused": ({ volume }) => rejectsWith(Volume.create(volume.name), "VolumeError"),
    "an unknown volume is none": async () => {
      await rejectsWith(Volume.getInfo("nosuchvolume"), "VolumeNotFoundError");
      assert.equal(await Volume.destroy("nosuchvolume"), false);
    },
    "writeFile and readFile carry text, bytes, blobs and streams": async ({ volume }) => {
      await volume.writeFile("text", "äöü");
      assert.equal(await volume.readFile("text"), "äöü");
      const bytes = new Uint8Array([0, 255, 10]);
      await volume.writeFile("bytes", bytes.buffer);
      assert.deepEqual(await volume.readFile("bytes", { format: "bytes" }), bytes);
      await volume.writeFile("stream", new Blob(["one", "two"]).stream());
      assert.equal(textOf(await bytesOfStream(await volume.readFile("stream", { format: "stream" }))), "onetwo");
      assert.equal(await (await volume.readFile("stream", { format: "blob" })).text(), "onetwo");
    },
    "makeDir, list, getInfo and exists see the tree": async ({ volume }) => {
      assert.equal((await volume.makeDir("a/b", { force: true })).type, "directory");
      await volume.writeFile("a/b/c", "c");
      assert.deepEqual(
        (await volume.list("a")).map(({ name }) => name),
        ["b"],
      );
      assert.deepEqual((await volume.list("a", { depth: 2 })).map(({ path }) => path).sort(), ["/a/b", "/a/b/c"]);
      const info = await volume.getInfo("a/b/c");
      assert.deepEqual([info.type, info.size, info.mtime instanceof Date], ["file", 1, true]);
      assert.deepEqual([await volume.exists("a/b/c"), await volume.exists("a/none")], [true, false]);
      await rejectsWith(volume.readFile("a/none"), "VolumePathNotFoundError");
    },
    "updateMetadata and remove": async ({ volume }) => {
      await volume.writeFile("m", "m", { mode: 0o600 });
      const changed = await volume.updateMetadata("m", { uid: 1000, gid: 1000, mode: 0o640 });
      assert.deepEqual([changed.uid, changed.gid, changed.mode & 0o777], [1000, 1000, 0o640]);
      await volume.remove("m");
      assert.equal(await volume.exists("m"), false);
    },
    "sandboxes share a mounted volume, which outlives them": async ({ volume }) => {
      const [first, second] = await Promise.all([
        Sandbox.create({ volumeMounts: { "/data": volume } }),
        Sandbox.create({ volumeMounts: { "/data": volume.name } }),
      ]);
      try {
        await first.commands.run("echo inside > /data/inside");
        assert.equal(await second.files.read("/data/inside"), "inside\n");
        assert.deepEqual((await second.getInfo()).volumeMounts, [{ name: volume.name, path: "/data" }]);
      } finally {
        await Promise.all([first.kill(), second.kill()]);
      }
      assert.equal(await volume.readFile("inside"), "inside\n");
    },
  },
};
