import assert from "node:assert/strict";
import { FilesystemEventType, Sandbox } from "e2b";
import { rejectsWith, until } from "../harness.mjs";

/** Watch `path` during `act` until an event like `wanted` came. */
async function sees(files, path, options, act, wanted) {
  const events = [];
  const handle = await files.watchDir(path, (event) => void events.push(event), options);
  try {
    await act();
    return await until(
      () => events.find((event) => event.name === wanted.name && event.type === wanted.type),
      `${wanted.type} of ${wanted.name}`,
    );
  } finally {
    await handle.stop();
  }
}

export const watch = {
  title: "watch",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
    await sandbox.files.makeDir("watched");
    return { sandbox, files: sandbox.files };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "create and write": async ({ files }) => {
      await sees(files, "watched", {}, () => files.write("watched/new.txt", "x"), { name: "new.txt", type: FilesystemEventType.CREATE });
      await sees(files, "watched", {}, () => files.write("watched/new.txt", "yy"), { name: "new.txt", type: FilesystemEventType.WRITE });
    },
    "chmod, rename and remove": async ({ sandbox, files }) => {
      await files.write("watched/change.txt", "x");
      const chmod = () => sandbox.commands.run("chmod 600 watched/change.txt");
      await sees(files, "watched", {}, chmod, { name: "change.txt", type: FilesystemEventType.CHMOD });
      const rename = () => files.rename("watched/change.txt", "watched/moved.txt");
      await sees(files, "watched", {}, rename, { name: "change.txt", type: FilesystemEventType.RENAME });
      await sees(files, "watched", {}, () => files.remove("watched/moved.txt"), { name: "moved.txt", type: FilesystemEventType.REMOVE });
    },
    "recursive, in directories made later too": async ({ files }) => {
      const act = async () => {
        await files.makeDir("watched/later");
        await files.write("watched/later/inner.txt", "x");
      };
      await sees(files, "watched", { recursive: true }, act, { name: "later/inner.txt", type: FilesystemEventType.CREATE });
    },
    "not recursive unless asked": async ({ files }) => {
      await files.makeDir("watched/quiet");
      const events = [];
      const handle = await files.watchDir("watched", (event) => void events.push(event));
      await files.write("watched/quiet/inner.txt", "x");
      await files.write("watched/loud.txt", "x");
      await until(() => events.some(({ name }) => name === "loud.txt"), "the event of the watched directory");
      await handle.stop();
      assert.ok(!events.some(({ name }) => name.includes("inner")), JSON.stringify(events));
    },
    "includeEntry describes the entry": async ({ files }) => {
      const event = await sees(files, "watched", { includeEntry: true }, () => files.write("watched/entry.txt", "123"), {
        name: "entry.txt",
        type: FilesystemEventType.WRITE,
      });
      assert.equal(event.entry?.path, "/home/user/watched/entry.txt");
    },
    "stop calls onExit and ends the events": async ({ files }) => {
      const events = [];
      let exits = 0;
      const handle = await files.watchDir("watched", (event) => void events.push(event), {
        onExit: () => {
          exits += 1;
        },
      });
      await handle.stop();
      await until(() => exits === 1, "onExit");
      await files.write("watched/after.txt", "x");
      assert.deepEqual(events, []);
    },
    "a timeout ends the watch with an error, none lets it go on": async ({ files }) => {
      await files.makeDir("timed");
      const exits = [];
      await files.watchDir("timed", () => undefined, { timeoutMs: 300, onExit: (error) => void exits.push(error) });
      await until(() => exits.length > 0, "onExit");
      assert.deepEqual([exits.length, exits[0]?.name], [1, "TimeoutError"]);
      await sees(files, "timed", { timeoutMs: 0 }, () => files.write("timed/f", "x"), { name: "f", type: FilesystemEventType.CREATE });
    },
    "as another user, and where network file systems are allowed": async ({ files }) => {
      await files.makeDir("theirs", { user: "root" });
      const options = { user: "root", allowNetworkMounts: true, recursive: true };
      await sees(files, "theirs", options, () => files.write("/root/theirs/f", "x", { user: "root" }), {
        name: "f",
        type: FilesystemEventType.CREATE,
      });
    },
    "a callback that fails ends the watch": async ({ files }) => {
      await files.makeDir("failing");
      const exits = [];
      await files.watchDir("failing", () => Promise.reject(new Error("mine")), { onExit: (error) => void exits.push(error) });
      await files.write("failing/f", "x");
      await until(() => exits.length > 0, "onExit");
      assert.equal(exits[0]?.message, "mine");
    },
    "a missing path": ({ files }) =>
      rejectsWith(
        files.watchDir("missing", () => undefined),
        "FileNotFoundError",
      ),
    "a file": async ({ files }) => {
      await files.write("plain", "x");
      await rejectsWith(
        files.watchDir("plain", () => undefined),
        "InvalidArgumentError",
      );
    },
  },
};
