import { writeFileSync } from "node:fs";
import { appendFile, chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EventType, type FilesystemEvent, FileType, type WatchDirResponse } from "../../gen/proto/filesystem/filesystem_pb.js";
import { EventQueue } from "../../src/daemon/filesystem/watch/event-queue.js";
import { networkTypeIn } from "../../src/daemon/filesystem/watch/network-mounts.js";
import { codeOf, type FileSandbox, openFileSandbox } from "./support/file-sandbox.js";

let box: FileSandbox;
beforeAll(async () => {
  box = await openFileSandbox();
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

/** Start a watch; `next` gives its events as `KIND name`, with equal neighbours joined. */
async function watch(path: string, options: { recursive?: boolean; includeEntry?: boolean; headers?: Record<string, string> } = {}) {
  const abort = new AbortController();
  const { headers = {}, ...request } = options;
  const stream = box.filesystem.watchDir({ path, ...request }, { signal: abort.signal, headers })[Symbol.asyncIterator]();
  const first = await stream.next();
  expect((first.value as WatchDirResponse).event.case).toBe("start");
  const events: FilesystemEvent[] = [];
  const text = (): string[] => {
    const lines = events.map((event) => `${EventType[event.type]} ${event.name}`);
    return lines.filter((line, index) => line !== lines[index - 1]);
  };
  return {
    events,
    text,
    stream,
    stop: () => abort.abort(),
    /** Read until the last event is `line`. */
    until: async (line: string): Promise<string[]> => {
      while (text().at(-1) !== line) {
        const { value, done } = await stream.next();
        if (done) throw new Error(`the stream ended before '${line}'`);
        if (value.event.case === "filesystem") events.push(value.event.value);
      }
      return text();
    },
  };
}

async function freshDirectory(name: string): Promise<string> {
  const path = join(box.home, name);
  await mkdir(path, { recursive: true });
  return path;
}

describe("watchDir", () => {
  it("reports create, write, chmod, rename and remove by name, in the order of the changes", async () => {
    const dir = await freshDirectory("kinds");
    const { until, stop } = await watch("kinds");
    await writeFile(join(dir, "a"), "1");
    await appendFile(join(dir, "a"), "2");
    await chmod(join(dir, "a"), 0o600);
    await rename(join(dir, "a"), join(dir, "b"));
    await rm(join(dir, "b"));
    expect(await until("REMOVE b")).toEqual(["CREATE a", "WRITE a", "CHMOD a", "RENAME a", "CREATE b", "REMOVE b"]);
    stop();
  });

  it("does not report below subdirectories unless recursive", async () => {
    const dir = await freshDirectory("flat");
    await mkdir(join(dir, "sub"));
    const { until, stop } = await watch("flat");
    await writeFile(join(dir, "sub/x"), "1");
    await writeFile(join(dir, "end"), "");
    expect(await until("CREATE end")).toEqual(["CREATE end"]);
    stop();
  });

  it("reports trees made after the start completely, each entry once", async () => {
    const dir = await freshDirectory("tree");
    const { until, events, stop } = await watch("tree", { recursive: true });
    const expected: string[] = [];
    for (let index = 0; index < 50; index++) {
      await mkdir(join(dir, `d${index}/e/f`), { recursive: true });
      await writeFile(join(dir, `d${index}/e/f/x`), "1");
      expected.push(`d${index}`, `d${index}/e`, `d${index}/e/f`, `d${index}/e/f/x`);
    }
    await writeFile(join(dir, "end"), "");
    await until("CREATE end");
    const created = events.filter((event) => event.type === EventType.CREATE).map((event) => event.name);
    expect(created.sort()).toEqual([...expected, "end"].sort());
    expect(events.filter((event) => event.type === EventType.WRITE && event.name.endsWith("/x")).length).toBeGreaterThanOrEqual(50);
    stop();
  });

  it("follows a directory that is renamed inside the tree, forgets one that leaves, and finds what one brings along", async () => {
    const dir = await freshDirectory("moves");
    await mkdir(join(dir, "a/in"), { recursive: true });
    await mkdir(join(box.home, "outside"));
    const { until, stop } = await watch("moves", { recursive: true });
    await rename(join(dir, "a"), join(dir, "b"));
    await writeFile(join(dir, "b/in/x"), "");
    expect(await until("CREATE b/in/x")).toEqual(["RENAME a", "CREATE b", "CREATE b/in/x"]);
    await rename(join(dir, "b"), join(box.home, "outside/b"));
    expect(await until("RENAME b")).toHaveLength(4);
    await writeFile(join(box.home, "outside/b/in/unseen"), "");
    await rename(join(box.home, "outside/b"), join(dir, "c"));
    const back = (await until("CREATE c/in/x")).slice(4);
    expect(back).toContain("CREATE c");
    expect(back).toContain("CREATE c/in");
    await writeFile(join(dir, "c/in/z"), "");
    await until("CREATE c/in/z");
    stop();
  });

  it("loses no change that follows the start message", async () => {
    const dir = await freshDirectory("at-once");
    for (let round = 0; round < 20; round++) {
      const { until, stop } = await watch("at-once", { recursive: round % 2 === 0 });
      await writeFile(join(dir, `r${round}`), "");
      expect(await until(`CREATE r${round}`)).toEqual([`CREATE r${round}`]);
      stop();
    }
  });

  it("WAT-08: reports the removal of the root and ends the stream with not_found, also when it is made again", async () => {
    const dir = await freshDirectory("doomed");
    await writeFile(join(dir, "x"), "");
    const { until, stream } = await watch("doomed", { recursive: true });
    await rm(dir, { recursive: true });
    await mkdir(dir);
    await writeFile(join(dir, "y"), "");
    expect(await until("REMOVE .")).toEqual(["REMOVE x", "REMOVE ."]);
    expect(await codeOf(stream.next())).toBe("NotFound");
  });

  it("WAT-08: reports a root that is moved away and ends the stream with not_found", async () => {
    const dir = await freshDirectory("leaving");
    const { until, stream } = await watch("leaving");
    await rename(dir, join(box.home, "left"));
    await until("RENAME .");
    expect(await codeOf(stream.next())).toBe("NotFound");
  });

  it("WAT-09: a burst of 20 000 files arrives whole, or the stream says that events were lost", async () => {
    const dir = await freshDirectory("burst");
    const { events, stream, stop } = await watch("burst", { recursive: true });
    const names = new Set<string>();
    const reading = (async () => {
      while (names.size < 20_000) {
        const { value, done } = await stream.next();
        if (done) throw new Error("ended");
        if (value.event.case === "filesystem" && value.event.value.type === EventType.CREATE) names.add(value.event.value.name);
      }
    })();
    const outcome = codeOf(reading);
    for (let index = 0; index < 20_000; index += 500) {
      for (let offset = 0; offset < 500; offset++) writeFileSync(join(dir, `f${index + offset}`), "");
      await setImmediate();
    }
    const code = await outcome;
    if (code === undefined) expect(names.size).toBe(20_000);
    else expect(code).toBe("Aborted");
    expect(events).toEqual([]);
    stop();
  }, 60_000);

  it("WAT-10: entries are given for create, write and chmod while the file exists, and their absence does not end the stream", async () => {
    const dir = await freshDirectory("flicker");
    const { until, events, stop } = await watch("flicker", { includeEntry: true });
    for (let index = 0; index < 200; index++) {
      await writeFile(join(dir, "same"), "12345");
      await rm(join(dir, "same"));
    }
    await writeFile(join(dir, "stays"), "12345");
    await until("WRITE stays");
    const last = events.at(-1);
    expect(last?.entry).toMatchObject({ name: "stays", path: join(dir, "stays"), size: 5n, type: FileType.FILE });
    for (const event of events) if (event.type === EventType.REMOVE) expect(event.entry).toBeUndefined();
    expect(events.filter((event) => event.type === EventType.REMOVE)).toHaveLength(200);
    stop();
  });

  it("sends keepalives in silence", async () => {
    await freshDirectory("quiet");
    const { stream, stop } = await watch("quiet", { headers: { "keepalive-ping-interval": "0.05" } });
    const { value } = await stream.next();
    expect((value as WatchDirResponse).event.case).toBe("keepalive");
    stop();
  });

  it("ends with deadline_exceeded when the call's timeout passes", async () => {
    await freshDirectory("timed");
    const stream = box.filesystem.watchDir({ path: "timed" }, { timeoutMs: 200 });
    const drained = (async () => {
      for await (const _ of stream);
    })();
    expect(await codeOf(drained)).toBe("DeadlineExceeded");
  });

  it("refuses what is missing or not a directory, and follows a link to a directory", async () => {
    await writeFile(join(box.home, "a-file"), "");
    const start = (path: string) => box.filesystem.watchDir({ path })[Symbol.asyncIterator]().next();
    expect(await codeOf(start("no-such"))).toBe("NotFound");
    expect(await codeOf(start("a-file"))).toBe("InvalidArgument");
    const dir = await freshDirectory("linked");
    await symlink("linked", join(box.home, "to-linked"));
    const { until, stop } = await watch("to-linked");
    await writeFile(join(dir, "x"), "");
    await until("CREATE x");
    stop();
  });

  it("serves 200 watches at once with one inotify instance", async () => {
    const dir = await freshDirectory("crowd");
    const watchers = await Promise.all(Array.from({ length: 200 }, () => box.filesystem.createWatcher({ path: "crowd" })));
    await writeFile(join(dir, "x"), "");
    for (const { watcherId } of watchers) {
      await expect.poll(async () => (await box.filesystem.getWatcherEvents({ watcherId })).events.map((e) => e.name)).toContain("x");
      await box.filesystem.removeWatcher({ watcherId });
    }
  });
});

describe("polled watchers", () => {
  it("return and clear their events in order, and are unknown once removed", async () => {
    const dir = await freshDirectory("polled");
    const { watcherId } = await box.filesystem.createWatcher({ path: "polled", recursive: true });
    expect(watcherId).toMatch(/^w[0-9a-z]{20}$/);
    await mkdir(join(dir, "s"));
    await writeFile(join(dir, "s/x"), "");
    const names: string[] = [];
    await expect
      .poll(async () => {
        names.push(...(await box.filesystem.getWatcherEvents({ watcherId })).events.map((event) => event.name));
        return names;
      })
      .toEqual(["s", "s/x"]);
    expect((await box.filesystem.getWatcherEvents({ watcherId })).events).toEqual([]);
    await box.filesystem.removeWatcher({ watcherId });
    expect(await codeOf(box.filesystem.getWatcherEvents({ watcherId }))).toBe("NotFound");
    expect(await codeOf(box.filesystem.removeWatcher({ watcherId }))).toBe("NotFound");
  });

  it("WAT-08: give the removal of the root, then its reason", async () => {
    const dir = await freshDirectory("polled-root");
    const { watcherId } = await box.filesystem.createWatcher({ path: "polled-root" });
    await rm(dir, { recursive: true });
    await expect
      .poll(async () => (await box.filesystem.getWatcherEvents({ watcherId })).events.map((event) => EventType[event.type]))
      .toEqual(["REMOVE"]);
    expect(await codeOf(box.filesystem.getWatcherEvents({ watcherId }))).toBe("NotFound");
    await box.filesystem.removeWatcher({ watcherId });
  });
});

describe("network mounts", () => {
  const mountinfo = [
    "22 1 0:20 / / rw - overlay overlay rw",
    "23 22 0:21 / /mnt/share\\040one rw - nfs4 server:/x rw",
    "24 22 0:22 / /mnt/share\\040one/local rw - ext4 /dev/sda rw",
    "25 22 0:23 / /mnt/fuse rw - fuse.sshfs host: rw",
  ].join("\n");

  it("are recognised by the innermost mount of the path", () => {
    expect(networkTypeIn(mountinfo, "/home")).toBeUndefined();
    expect(networkTypeIn(mountinfo, "/mnt/share one/a")).toBe("nfs4");
    expect(networkTypeIn(mountinfo, "/mnt/share one/local/a")).toBeUndefined();
    expect(networkTypeIn(mountinfo, "/mnt/fuse")).toBe("fuse.sshfs");
    expect(networkTypeIn(mountinfo, "/mnt/fuse2")).toBeUndefined();
  });
});

describe("the queue of a watch", () => {
  it("WAT-09: drops everything and says so when nobody reads it, and takes no more memory afterwards", () => {
    let stops = 0;
    const queue = new EventQueue<number>(
      3,
      () => new Error("too many"),
      () => stops++,
    );
    for (let event = 0; event < 10; event++) queue.push(event);
    expect(stops).toBe(1);
    expect(() => queue.take()).toThrow("too many");
    expect(() => queue.take()).toThrow("too many");
  });

  it("delivers what came before a failure", () => {
    const queue = new EventQueue<number>(
      3,
      () => new Error("too many"),
      () => {},
    );
    queue.push(1);
    queue.fail(new Error("gone"));
    queue.push(2);
    expect(queue.take()).toEqual([1]);
    expect(() => queue.take()).toThrow("gone");
  });
});
