import { afterEach, expect, it } from "vitest";
import {
  type ConnectionOptions,
  FailedPreconditionError,
  InvalidArgumentError,
  Sandbox,
  SandboxNotFoundError,
  TemplateError,
} from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("snapshots and forks", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options: ConnectionOptions = { apiUrl, sandboxUrl, apiKey };
  const made: Sandbox[] = [];
  const create = async (template = "base", more = {}) => {
    const sandbox = await Sandbox.create(template, { ...options, timeoutMs: 120_000, ...more });
    made.push(sandbox);
    return sandbox;
  };
  const fork = async (source: Sandbox, count?: number) => {
    const forks = await source.fork({ timeoutMs: 120_000, count });
    const sandboxes = forks.filter((copy) => copy instanceof Sandbox);
    made.push(...sandboxes);
    return { forks, sandboxes };
  };
  afterEach(async () => {
    await Promise.all(made.splice(0).map((sandbox) => sandbox.kill()));
  });

  it("starts sandboxes from a snapshot, which keeps one moment and outlives its sandbox", async () => {
    const source = await create();
    const sleeper = await source.commands.start("sleep 600");
    await source.files.write("a.txt", "before");
    const snapshot = await source.createSnapshot();
    expect(snapshot).toEqual({ snapshotId: expect.stringMatching(/^[a-z0-9]{20}:default$/), names: [] });
    // It runs on: the same processes, and what it writes now is its own.
    expect((await source.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);
    await source.files.write("a.txt", "after");
    expect(await source.listSnapshots().toArray()).toEqual([snapshot]);
    await source.kill();

    const copy = await create(snapshot.snapshotId);
    expect(await copy.files.read("a.txt")).toBe("before");
    await copy.files.write("b.txt", "second");
    const second = await copy.createSnapshot();
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId, options)).toBe(true);
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId, options)).toBe(false);
    // What stands on a deleted snapshot stays.
    const third = await create(second.snapshotId);
    expect([await third.files.read("a.txt"), await third.files.read("b.txt")]).toEqual(["before", "second"]);
    expect(await copy.files.read("a.txt")).toBe("before");
    await Sandbox.deleteSnapshot(second.snapshotId, options);
    await expect(create(second.snapshotId)).rejects.toThrow(TemplateError);
  });

  it("keeps deletions, owners, modes and links in a snapshot", async () => {
    const source = await create();
    await source.commands.run(
      "rm /etc/issue; ln -s x l; mkfifo p; touch s; chmod 4755 s; rm -rf /usr/share/doc; mkdir /usr/share/doc; touch /usr/share/doc/mine",
      {
        user: "root",
        cwd: "/root",
      },
    );
    const { snapshotId } = await source.createSnapshot({ name: "Kept-Files:v1" });
    expect(snapshotId).toBe("local/kept-files:v1");
    const copy = await create("local/kept-files:v1");
    const { stdout } = await copy.commands.run(
      "ls /etc/issue 2>/dev/null; stat -c '%n %A %U' l p s; ls /usr/share/doc; cat /etc/hostname",
      {
        user: "root",
        cwd: "/root",
      },
    );
    expect(stdout).toBe(`l lrwxrwxrwx root\np prw-r--r-- root\ns -rwsr-xr-x root\nmine\n${copy.sandboxId}\n`);
    expect(await Sandbox.listSnapshots({ ...options, name: "kept-files" }).toArray()).toEqual([
      { snapshotId, names: ["local/kept-files"] },
    ]);
    await Sandbox.deleteSnapshot(snapshotId, options);
  });

  it("copies a running sandbox several times, and says that the copies start from its files", async () => {
    const source = await create("base", { envs: { WHO: "source" }, metadata: { kind: "forked" } });
    await source.files.write("a.txt", "shared");
    await source.commands.start("sleep 600");
    const { forks, sandboxes } = await fork(source, 3);
    expect(forks).toHaveLength(3);
    expect(forks.memory).toBe(false);
    expect(new Set([source, ...sandboxes].map(({ sandboxId }) => sandboxId)).size).toBe(4);
    await Promise.all(sandboxes.map((copy, index) => copy.files.write("own.txt", String(index))));
    for (const [index, copy] of sandboxes.entries()) {
      expect((await copy.commands.run("cat a.txt own.txt; echo $WHO")).stdout).toBe(`shared${index}source\n`);
      expect(await copy.commands.list()).toEqual([]);
      expect((await copy.getInfo()).metadata).toEqual({ kind: "forked" });
    }
    expect(await source.files.exists("own.txt")).toBe(false);
    // A copy of a copy, after the source of both is gone.
    await source.kill();
    const again = await fork(sandboxes[1] as Sandbox);
    expect(await again.sandboxes[0]?.files.read("own.txt")).toBe("1");
    expect(await Sandbox.listSnapshots({ ...options, sandboxId: source.sandboxId }).toArray()).toEqual([]);
  });

  it("a copy is one moment of a sandbox that writes all the time", async () => {
    const source = await create();
    await source.commands.start("i=0; while :; do i=$((i+1)); echo $i > new; mv new one; cp one new; mv new two; done");
    await expect.poll(() => source.files.exists("two")).toBe(true);
    const { sandboxes } = await fork(source);
    const { stdout } = await (sandboxes[0] as Sandbox).commands.run("cat one two");
    const [one = 0, two = 0] = stdout.trim().split("\n").map(Number);
    expect([0, 1]).toContain(one - two);
  });

  it("refuses what is paused, unknown or out of range", async () => {
    const source = await create();
    await expect(source.fork({ count: 0 })).rejects.toThrow(InvalidArgumentError);
    await expect(source.fork({ count: 101 })).rejects.toThrow(InvalidArgumentError);
    await expect(source.createSnapshot({ name: "../x" })).rejects.toThrow(InvalidArgumentError);
    await expect(source.createSnapshot({ name: "other-team/x" })).rejects.toThrow(InvalidArgumentError);
    await source.pause();
    await expect(source.fork()).rejects.toThrow(FailedPreconditionError);
    await expect(source.createSnapshot()).rejects.toThrow(FailedPreconditionError);
    await expect(Sandbox.fork("nosuchsandbox", options)).rejects.toThrow(SandboxNotFoundError);
  });
});
