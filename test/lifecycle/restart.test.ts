import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createOciDriver } from "../../src/control/drivers/oci/oci-driver.js";
import { createLogger } from "../../src/control/logger.js";
import { resolvePaths } from "../../src/control/paths.js";
import { openPlatform, type Platform } from "../../src/control/platform.js";
import { createTemplateResolver } from "../../src/control/template-resolver.js";
import { createTemplateStore } from "../../src/control/templates/template-store.js";
import { type ConnectionOptions, Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { machineTemplatesDir } from "../support/test-platform.js";

describeOnPlatform("what survives the platform and the machine", () => {
  let root: string;
  let platform: Platform;
  let options: ConnectionOptions;
  let made: Sandbox[];

  /** `bootId` stands for the run of the machine. */
  const open = async (bootId?: string) => {
    const paths = resolvePaths({ env: { AGENT_SANDBOX_DATA_DIR: join(root, "data"), AGENT_SANDBOX_RUN_DIR: join(root, "run") } });
    const logger = createLogger(() => {});
    const templateStore = createTemplateStore(paths.templatesDir);
    const parts = {
      paths,
      driver: createOciDriver({ paths, logger }),
      templates: createTemplateResolver(templateStore),
      templateStore,
      logger,
    };
    const settings = {
      port: 0,
      host: "127.0.0.1",
      domain: "localhost",
      poolSize: 0,
      maxSandboxes: 10,
      minFreeBytes: 0,
      idleTimeoutMs: 0,
      checkAnswers: true,
    };
    platform = await openPlatform({ ...parts, ...(bootId !== undefined && { bootId }) }, settings);
    options = { apiUrl: platform.info.url, sandboxUrl: platform.info.url, apiKey: platform.info.apiKey };
  };
  const reopen = async (bootId?: string) => {
    await platform.close();
    await open(bootId);
  };
  const create = async (more = {}) => {
    const sandbox = await Sandbox.create({ ...options, timeoutMs: 120_000, ...more });
    made.push(sandbox);
    return sandbox;
  };
  /** As a power cut does: processes, sockets and runtime state are gone, files stay. */
  const endProcesses = (id: string) => {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        if (readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(id)) process.kill(Number(pid), "SIGKILL");
      } catch {
        // Gone meanwhile.
      }
    }
    // A frozen process takes its signal when it thaws.
    for (const file of findFreezers(id)) writeFileSync(file, "THAWED");
    rmSync(join(root, "run", "sockets", `${id}.sock`), { force: true });
  };

  beforeEach(async () => {
    made = [];
    root = mkdtempSync(join(tmpdir(), "abx-restart-"));
    chmodSync(root, 0o711);
    mkdirSync(join(root, "data"), { mode: 0o711 });
    mkdirSync(join(root, "run"), { mode: 0o700 });
    symlinkSync(machineTemplatesDir(), join(root, "data", "templates"));
    await open();
  });
  afterEach(async () => {
    for (const { sandboxId } of made) await Sandbox.kill(sandboxId, options);
    await platform.close();
    rmSync(root, { recursive: true, force: true });
  });

  it("a paused sandbox stays paused with its memory over a restart of the platform", async () => {
    const sandbox = await create();
    const sleeper = await sandbox.commands.start("sleep 600");
    await sandbox.pause();
    const before = await sandbox.getInfo();
    await reopen();
    expect(await Sandbox.getInfo(sandbox.sandboxId, options)).toMatchObject({ state: "paused", memoryState: "kept", endAt: before.endAt });
    const joined = await Sandbox.connect(sandbox.sandboxId, options);
    expect((await joined.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);
  });

  it("a restart of the machine keeps the files, says that the memory is lost, and connecting starts it anew", async () => {
    const [paused, running, mortal] = [await create(), await create(), await create({ timeoutMs: 1_000 })];
    for (const sandbox of [paused, running]) await sandbox.files.write("a.txt", sandbox.sandboxId);
    await paused.pause();
    await platform.close();
    for (const { sandboxId } of [paused, running, mortal]) endProcesses(sandboxId);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await open("another-boot");
    for (const { sandboxId } of [paused, running]) {
      expect(await Sandbox.getInfo(sandboxId, options)).toMatchObject({ state: "paused", memoryState: "lost" });
      const joined = await Sandbox.connect(sandboxId, options);
      expect(await joined.files.read("a.txt")).toBe(sandboxId);
      expect((await joined.getInfo()).memoryState).toBe("rebooted");
      expect((await joined.getLogs()).map(({ fields }) => fields.memory)).toContain("lost");
    }
    expect((await Sandbox.list(options).toArray()).map(({ sandboxId }) => sandboxId)).not.toContain(mortal.sandboxId);
    expect(existsSync(join(root, "data", "sandboxes", mortal.sandboxId))).toBe(false);
  });

  it("a sandbox whose daemon died while nobody looked is buried", async () => {
    const sandbox = await create();
    await platform.close();
    endProcesses(sandbox.sandboxId);
    await open();
    expect(await Sandbox.list(options).toArray()).toEqual([]);
    expect(readdirSync(join(root, "data", "sandboxes"))).toEqual([]);
  });

  it("a snapshot and what stands on it survive a restart of the platform", async () => {
    const sandbox = await create();
    await sandbox.files.write("a.txt", "kept");
    const { snapshotId } = await sandbox.createSnapshot();
    await sandbox.kill();
    await reopen();
    const copy = await create({ template: snapshotId });
    expect(await copy.files.read("a.txt")).toBe("kept");
    await Sandbox.deleteSnapshot(snapshotId, options);
    await copy.kill();
    await reopen();
    expect(await Sandbox.listSnapshots(options).toArray()).toEqual([]);
  });
});

/** Of version 1, where a frozen process does not even die. */
function findFreezers(id: string): string[] {
  const parents = "/sys/fs/cgroup/freezer/agent-sandbox";
  if (!existsSync(parents)) return [];
  return readdirSync(parents)
    .map((parent) => join(parents, parent, id, "freezer.state"))
    .filter((file) => existsSync(file));
}
