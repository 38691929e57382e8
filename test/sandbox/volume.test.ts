import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox, Volume } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("volumes and mounts in sandboxes", (platform) => {
  const connection = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  const volumes: Volume[] = [];
  const create = async (name: string) => {
    const volume = await Volume.create(name, connection);
    volumes.push(volume);
    return volume;
  };
  afterAll(async () => {
    for (const { volumeId } of volumes) await Volume.destroy(volumeId, connection);
  });

  it("what one sandbox writes another reads, and it outlives both", async () => {
    const volume = await create("shared-1");
    const first = await Sandbox.create("base", { ...connection, volumeMounts: { "/data": volume }, timeoutMs: 60_000 });
    const second = await Sandbox.create("base", { ...connection, volumeMounts: { "/srv/deep/data": "shared-1" }, timeoutMs: 60_000 });
    try {
      expect((await first.getInfo()).volumeMounts).toEqual([{ name: "shared-1", path: "/data" }]);
      await first.commands.run("echo one > /data/one && id -un > /data/owner");
      expect(await second.files.read("/srv/deep/data/one")).toBe("one\n");
      expect((await second.commands.run("stat -c %U /srv/deep/data/one")).stdout).toBe("user\n");
      await volume.writeFile("from/outside", "two", { force: true });
      expect((await first.commands.run("cat /data/from/outside && echo more >> /data/from/outside")).stdout).toBe("two");
      await expect(Volume.destroy(volume.volumeId, connection)).rejects.toMatchObject({ reason: "failed_precondition" });
    } finally {
      await Promise.all([first.kill(), second.kill()]);
    }
    expect(await volume.readFile("/from/outside")).toBe("twomore\n");
    expect(await volume.getInfo("one")).toMatchObject({ type: "file", uid: 1000, gid: 1000, sizeBytes: 4 });
    const again = await Sandbox.create("base", { ...connection, volumeMounts: { "/data": volume }, timeoutMs: 60_000 });
    try {
      expect(await again.files.read("/data/owner")).toBe("user\n");
    } finally {
      await again.kill();
    }
  });

  it.each(["/etc/passwd", "/etc/passwd/x"])("is refused at %s, by the name of the file, and nothing is left", async (path) => {
    const volume = await create(`on-file-${volumes.length}`);
    await expect(Sandbox.create("base", { ...connection, volumeMounts: { [path]: volume } })).rejects.toMatchObject({
      name: "InvalidArgumentError",
      message: expect.stringContaining('"/etc/passwd" is a file in the sandbox') as string,
    });
    // No sandbox uses it.
    await Volume.destroy(volume.volumeId, connection);
    volumes.splice(volumes.indexOf(volume), 1);
  });

  it("offers the whole content from outside", async () => {
    const volume = await create("outside");
    expect(await Volume.list(connection)).toContainEqual({ volumeId: volume.volumeId, name: "outside" });
    expect(await Volume.getInfo(volume.volumeId, connection)).toEqual({ volumeId: volume.volumeId, name: "outside" });
    const same = await Volume.connect(volume.volumeId, connection);
    expect(same.token).toBe(volume.token);
    await same.makeDir("a/b", { force: true, mode: 0o700 });
    const bytes = new Uint8Array(2_000_000).fill(7);
    async function* stream() {
      yield bytes.subarray(0, 1_000_000);
      yield bytes.subarray(1_000_000);
    }
    expect(await same.writeFile("a/b/c", stream(), { uid: 0, gid: 0, mode: 0o600 })).toMatchObject({
      sizeBytes: 2_000_000,
      uid: 0,
      mode: 0o600,
    });
    expect(Buffer.compare(await same.readFile("a/b/c", { format: "bytes" }), bytes)).toBe(0);
    let size = 0;
    for await (const chunk of await same.readFile("a/b/c", { format: "stream" })) size += chunk.length;
    expect(size).toBe(2_000_000);
    expect((await same.list("/", { depth: 9 })).map(({ path }) => path)).toEqual(["/a", "/a/b", "/a/b/c"]);
    expect(await same.updateMetadata("a/b/c", { mode: 0o644, uid: 5 })).toMatchObject({ uid: 5, gid: 0, mode: 0o644 });
    expect(await same.exists("a/b/c")).toBe(true);
    await same.remove("a");
    expect(await same.exists("a/b/c")).toBe(false);
    await expect(same.readFile("a/b/c")).rejects.toMatchObject({ name: "FileNotFoundError" });
    await expect(same.makeDir("x/y")).rejects.toMatchObject({ name: "FileNotFoundError" });
    await expect(Volume.create("outside", connection)).rejects.toMatchObject({ name: "InvalidArgumentError" });
    await expect(Volume.connect("vol00000000000000000000", connection)).rejects.toMatchObject({ name: "NotFoundError" });
    expect(await Volume.destroy("vol00000000000000000000", connection)).toBe(false);
    expect(JSON.stringify(same)).not.toContain(volume.token);
  });

  describe("a directory of this machine", () => {
    let directory: string;
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), "abx-mount-"));
      writeFileSync(join(directory, "readable"), "of the host");
      writeFileSync(join(directory, "private"), "not for others", { mode: 0o600 });
    });
    afterAll(() => rmSync(directory, { recursive: true }));

    it("is read-only unless asked otherwise, and shows only what others may read", async () => {
      const { chmodSync } = await import("node:fs");
      chmodSync(directory, 0o777);
      const mounts = [
        { hostPath: directory, path: "/ro" },
        { hostPath: directory, path: "/rw", readOnly: false },
      ];
      const sandbox = await Sandbox.create("base", { ...connection, mounts, timeoutMs: 60_000 });
      try {
        expect(await sandbox.files.read("/ro/readable")).toBe("of the host");
        const attempt = (command: string) =>
          sandbox.commands.run(command, { user: "root" }).catch((error: { exitCode: number; stdout: string }) => error);
        expect(await attempt("cat /rw/private")).toMatchObject({ exitCode: 1, stdout: "" });
        expect(await attempt("echo x > /ro/new")).toMatchObject({ exitCode: 1 });
        expect(await attempt("mount -o remount,rw /ro && echo x > /ro/new")).not.toMatchObject({ exitCode: 0 });
        expect(await attempt("echo evil > /rw/readable")).not.toMatchObject({ exitCode: 0 });
        expect(await attempt("echo made > /rw/new && chmod 4755 /rw/new")).toMatchObject({ exitCode: 0 });
        const { statSync } = await import("node:fs");
        // A set-user-id program of a guest is one of an id that nobody has here.
        expect(statSync(join(directory, "new")).uid).toBeGreaterThanOrEqual(100_000);
        expect(readFileSync(join(directory, "readable"), "utf8")).toBe("of the host");
      } finally {
        await sandbox.kill();
      }
      expect(readFileSync(join(directory, "new"), "utf8")).toBe("made\n");
    });

    it("of the system or of somebody else is refused with a reason", async () => {
      for (const hostPath of ["/etc", "/", "/var/lib", "/proc", "/root/../usr"]) {
        await expect(Sandbox.create("base", { ...connection, mounts: [{ hostPath, path: "/x" }] })).rejects.toMatchObject({
          name: "PermissionDeniedError",
          message: expect.stringContaining("belongs to the system"),
        });
      }
    });
  });

  describe("isolation", () => {
    it("is reported per sandbox, with limits and what is not protected", async () => {
      const sandbox = await Sandbox.create("base", { ...connection, minimumIsolation: "container", timeoutMs: 60_000 });
      try {
        const report = await sandbox.getIsolation();
        expect(report).toMatchObject({ level: "container", runtime: expect.stringMatching(/^(crun|runc)$/), network: "proxy" });
        expect(report.namespaces).toEqual(expect.arrayContaining(["user", "pid", "mount", "network", "cgroup", "ipc", "uts"]));
        expect(report.hostUidOfRoot).toBeGreaterThanOrEqual(100_000);
        expect(report.limits).toMatchObject({ memoryMB: expect.any(Number), cpuCount: expect.any(Number), processes: expect.any(Number) });
        expect(report.caveats.join(" ")).toContain("kernel");
        const { stdout } = await sandbox.commands.run("ulimit -n");
        expect(Number(stdout)).toBe(report.limits.openFiles);
      } finally {
        await sandbox.kill();
      }
      await expect(sandbox.getIsolation()).rejects.toMatchObject({ name: "SandboxNotFoundError" });
    });

    it("no sandbox is made behind a weaker wall than was asked for", async () => {
      await expect(Sandbox.create("base", { ...connection, minimumIsolation: "vm" })).rejects.toMatchObject({
        name: "FailedPreconditionError",
        message: expect.stringContaining("container"),
      });
    });
  });
});
