import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Driver } from "../../src/control/drivers/driver.js";
import { daemonPidOf, findHostTraces, processesOf } from "../security/support/host-traces.js";
import { createTestDriver, createTestPaths, healthOf, specOf, type TestPaths, whyNoDriver } from "../security/support/test-driver.js";

const reason = whyNoDriver();

describe.skipIf(reason !== undefined).each([["crun"], ["runc"]])(
  `OCI driver on %s${reason === undefined ? "" : ` (skipped: ${reason})`}`,
  (runtime) => {
    let machine: TestPaths;
    let driver: Driver;

    beforeAll(async () => {
      machine = createTestPaths();
      driver = createTestDriver(machine, [runtime]);
      await driver.open();
    });
    afterEach(async () => {
      for (const { instance } of await driver.list()) await instance.destroy();
    });
    afterAll(async () => {
      await driver.close();
      machine[Symbol.dispose]();
    });

    it("reports the runtime, the namespaces and the host uid of root", () => {
      expect(driver.isolation()).toMatchObject({
        runtime,
        namespaces: ["user", "pid", "mount", "ipc", "uts", "network", "cgroup"],
        network: "proxy",
        limits: { memory: true, cpu: true, pids: true },
      });
      expect(driver.isolation().hostUidOfRoot).toBeGreaterThanOrEqual(100_000);
    });

    it("a request that is sent before the daemon is up is answered", async () => {
      const instance = await driver.create(specOf(machine, "early"));
      expect(await healthOf(instance)).toBe(204);
    });

    it("destroy leaves no process, mount, cgroup, directory, socket or runtime state, and may be repeated", async () => {
      const instance = await driver.create(specOf(machine, "gone"));
      expect(await healthOf(instance)).toBe(204);
      expect(findHostTraces(machine.paths, "gone")).not.toEqual([]);
      await instance.destroy();
      expect(findHostTraces(machine.paths, "gone")).toEqual([]);
      await instance.destroy();
      await expect(instance.connect()).rejects.toMatchObject({ name: "ConnectionError" });
    });

    it("LIF-06: destroys at the same time all succeed", async () => {
      const instance = await driver.create(specOf(machine, "twice"));
      await Promise.all(Array.from({ length: 5 }, () => instance.destroy()));
      expect(findHostTraces(machine.paths, "twice")).toEqual([]);
    });

    it("the sandbox ends with its daemon: connections are refused and it is listed as dead", async () => {
      const instance = await driver.create(specOf(machine, "dead"));
      expect(await healthOf(instance)).toBe(204);
      const lifeline = await instance.connect();
      lifeline.on("error", () => undefined);
      const closed = new Promise((resolve) => lifeline.once("close", resolve));
      process.kill(daemonPidOf("dead"), "SIGKILL");
      await closed;
      await expect.poll(() => processesOf("dead")).toEqual([]);
      await expect(instance.connect()).rejects.toMatchObject({ name: "ConnectionError", message: expect.stringContaining("ECONNREFUSED") });
      // A process that ended stays in its cgroup until its parent has looked at it.
      await expect.poll(() => driver.list()).toMatchObject([{ instance: { id: "dead" }, isRunning: false }]);
      await instance.destroy();
      expect(findHostTraces(machine.paths, "dead")).toEqual([]);
    });

    it("LIF-17: a creation that fails leaves nothing behind and says why", async () => {
      const broken = mkdtempSync(join(tmpdir(), "abx-broken-template-"));
      try {
        await expect(driver.create({ ...specOf(machine, "broken"), templateDir: broken })).rejects.toMatchObject({
          name: "FailedPreconditionError",
          message: expect.stringContaining("abx setup"),
        });
        expect(findHostTraces(machine.paths, "broken")).toEqual([]);
        mkdirSync(join(broken, "rootfs"));
        writeFileSync(join(broken, "template.json"), JSON.stringify({ hostIdBase: 100_000 }));
        await expect(driver.create({ ...specOf(machine, "broken"), templateDir: broken })).rejects.toMatchObject({ name: "InternalError" });
        expect(findHostTraces(machine.paths, "broken")).toEqual([]);
      } finally {
        rmSync(broken, { recursive: true });
      }
    });

    it("a second sandbox of the same id is refused and the first stays", async () => {
      const first = await driver.create(specOf(machine, "same"));
      await expect(driver.create(specOf(machine, "same"))).rejects.toMatchObject({ name: "AlreadyExistsError" });
      expect(await healthOf(first)).toBe(204);
    });

    it.each(["", "..", "a/b", "A", "a-b", "x".repeat(58)])("the id %j is refused", async (id) => {
      await expect(driver.create(specOf(machine, id))).rejects.toMatchObject({ name: "InvalidArgumentError" });
    });

    it("LIF-21: twenty creations at once all succeed", async () => {
      const instances = await Promise.all(Array.from({ length: 20 }, (_, index) => driver.create(specOf(machine, `burst${index}`))));
      const listed = await driver.list();
      expect(listed.filter(({ isRunning }) => isRunning)).toHaveLength(20);
      await Promise.all(instances.map((instance) => instance.destroy()));
      expect(await driver.list()).toEqual([]);
    });

    it("a later driver finds what an earlier one left running, and it still answers", async () => {
      const earlier = createTestDriver(machine, [runtime]);
      await earlier.open();
      await earlier.create(specOf(machine, "kept"));
      await earlier.close();
      const [found, ...more] = await driver.list();
      expect(more).toEqual([]);
      expect(found).toMatchObject({ instance: { id: "kept" }, isRunning: true });
      expect(await found?.instance.connect().then((socket) => socket.destroy())).toBeDefined();
      await found?.instance.destroy();
      expect(findHostTraces(machine.paths, "kept")).toEqual([]);
    });

    it("parts of a sandbox without the rest are listed as dead and can be destroyed", async () => {
      const instance = await driver.create(specOf(machine, "whole"));
      rmSync(join(machine.paths.sandboxesDir, "whole"), { recursive: true });
      mkdirSync(join(machine.paths.sandboxesDir, "onlydirectory"));
      writeFileSync(join(machine.paths.socketsDir, "onlysocket.sock.new"), "");
      mkdirSync(join(machine.paths.runDir, "runtime-state", runtime, "onlystate"));
      const found = await driver.list();
      expect(found.map(({ instance: { id }, isRunning }) => [id, isRunning]).sort()).toEqual([
        ["onlydirectory", false],
        ["onlysocket", false],
        ["onlystate", false],
        ["whole", false],
      ]);
      for (const part of found) await part.instance.destroy();
      await instance.destroy();
      expect(await driver.list()).toEqual([]);
      for (const { instance: part } of found) expect(findHostTraces(machine.paths, part.id)).toEqual([]);
    });

    it("platforms with other directories do not see the sandbox", async () => {
      await driver.create(specOf(machine, "mine"));
      using other = createTestPaths();
      const otherDriver = createTestDriver(other, [runtime]);
      await otherDriver.open();
      expect(await otherDriver.list()).toEqual([]);
      await otherDriver.close();
    });

    it("a killed runtime helper is started again and running sandboxes stay", async () => {
      const instance = await driver.create(specOf(machine, "survivor"));
      const helper = childPids(process.pid).find((pid) => commandOf(pid).includes("runtime-helper"));
      process.kill(Number(helper), "SIGKILL");
      await expect.poll(() => commandOf(Number(helper))).toBe("");
      await expect.poll(() => driver.list().catch(() => [])).toMatchObject([{ instance: { id: "survivor" }, isRunning: true }]);
      expect(await healthOf(instance)).toBe(204);
    });

    it("the helper ends with the platform", async () => {
      const short = createTestDriver(machine, [runtime]);
      const before = new Set(childPids(process.pid));
      await short.open();
      const own = childPids(process.pid).filter((pid) => !before.has(pid));
      expect(own.filter((pid) => commandOf(pid).includes("runtime-helper"))).toHaveLength(1);
      await short.close();
      expect(childPids(process.pid).filter((pid) => !before.has(pid))).toEqual([]);
    });
  },
);

describe.skipIf(reason !== undefined)("OCI driver without a runtime", () => {
  it("names abx setup and starts nothing", async () => {
    using machine = createTestPaths();
    const driver = createTestDriver(machine, ["no-such-runtime"]);
    await expect(driver.open()).rejects.toMatchObject({ name: "FailedPreconditionError", message: expect.stringContaining("abx setup") });
    await expect(driver.create(specOf(machine, "never"))).rejects.toMatchObject({ name: "FailedPreconditionError" });
    await driver.close();
  });

  it("one set of runtime files serves all sandboxes and is replaced as a whole", async () => {
    using machine = createTestPaths();
    const driver = createTestDriver(machine);
    await driver.open();
    await driver.close();
    const [directory, ...more] = readdirSync(machine.paths.runtimeDir);
    expect(more).toEqual([]);
    expect(readdirSync(join(machine.paths.runtimeDir, String(directory)))).toEqual(expect.arrayContaining(["daemon.mjs", "node"]));
    mkdirSync(join(machine.paths.runtimeDir, "olderversion"));
    await driver.open();
    await driver.close();
    expect(readdirSync(machine.paths.runtimeDir)).toEqual([directory]);
  });
});

function childPids(parent: number): number[] {
  const output = execFileSync("ps", ["--no-headers", "-o", "pid,comm", "--ppid", String(parent)], { encoding: "utf8" });
  return output
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.includes(" ps"))
    .map((line) => Number(line.trim().split(/\s+/)[0]));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
