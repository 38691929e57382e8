import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { acquireInstanceLock } from "../../src/control/instance-lock.js";
import { Store } from "../../src/control/store.js";
import { AlreadyExistsError, FailedPreconditionError } from "../../src/errors/error-classes.js";
import { ProcessDriver } from "./support/process-driver.js";
import { startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
afterEach(() => control.stop());

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("files", () => {
  it("are private, name the running platform, and are gone after a clean end", async () => {
    control = await startTestControl();
    const { paths, platform } = control;
    expect([paths.platformFile, paths.apiKeyFile, paths.databaseFile].map(modeOf)).toEqual(["600", "600", "600"]);
    expect([paths.dataDir, paths.sandboxesDir, paths.runDir].map(modeOf)).toEqual(["711", "711", "700"]);
    expect(JSON.parse(readFileSync(paths.platformFile, "utf8"))).toEqual(platform.info);
    expect(platform.info).toMatchObject({
      pid: process.pid,
      url: `http://127.0.0.1:${platform.info.port}`,
      apiKey: expect.stringMatching(/^e2b_[0-9a-f]{40}$/),
    });
    await platform.close();
    await platform.closed;
    expect(existsSync(paths.platformFile)).toBe(false);
  });
});

describe("one platform per directory", () => {
  it("a second one is refused while the first runs", async () => {
    control = await startTestControl();
    expect(() => acquireInstanceLock(control.paths.lockFile)).toThrow(AlreadyExistsError);
    expect(() => new Store(control.paths.databaseFile)).toThrow(AlreadyExistsError);
    await control.platform.close();
    acquireInstanceLock(control.paths.lockFile).release();
  });

  it("the refusal names the process, its run directory and what stops it", async () => {
    control = await startTestControl();
    const { lockFile, databaseFile, runDir } = control.paths;
    const byPid = new RegExp(`pid ${process.pid}\\b.*abx system stop`);
    expect(() => acquireInstanceLock(lockFile)).toThrow(byPid);
    expect(() => new Store(databaseFile)).toThrow(byPid);
    expect(() => new Store(databaseFile)).toThrow(`AGENT_SANDBOX_RUN_DIR=${runDir}`);
  });

  it("the lock of a killed process bars nobody", async () => {
    control = await startTestControl();
    const file = `${control.paths.lockFile}.other`;
    const code = `const { DatabaseSync } = require("node:sqlite"); new DatabaseSync(${JSON.stringify(file)}).exec("BEGIN EXCLUSIVE"); console.log("held"); setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    expect(() => acquireInstanceLock(file)).toThrow(AlreadyExistsError);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    acquireInstanceLock(file).release();
  });
});

describe("the run directory of the sandboxes", () => {
  it("is remembered: a platform with another one refuses to start and leaves them as they are", async () => {
    control = await startTestControl();
    const running = await control.create({ timeout: 600 });
    const paused = await control.create({ timeout: 600 });
    expect((await control.api("POST", `/sandboxes/${paused.sandboxID}/pause`)).status).toBe(204);
    const ids = [running.sandboxID, paused.sandboxID].sort();
    const { dataDir, runDir } = control.paths;
    for (const attempt of [1, 2]) {
      const refusal = await control.restart({}, "other").catch((error: unknown) => error);
      expect(refusal, `attempt ${attempt}`).toBeInstanceOf(FailedPreconditionError);
      for (const part of [dataDir, runDir, `${dirname(runDir)}/other`, "AGENT_SANDBOX_RUN_DIR", "AGENT_SANDBOX_DATA_DIR"]) {
        expect((refusal as Error).message).toContain(part);
      }
    }
    control = await control.restart();
    expect(control.driver.ids().sort()).toEqual(ids);
    expect((await control.edge(running, "/envs")).status).toBe(200);
  });

  it("can be another one once no sandbox is left", async () => {
    control = await startTestControl();
    const sandbox = await control.create();
    expect((await control.api("DELETE", `/sandboxes/${sandbox.sandboxID}`)).status).toBe(204);
    control = await control.restart({}, "other");
    await control.create();
    await expect(control.restart({}, "run")).rejects.toThrow(FailedPreconditionError);
  });

  it("bars no start where nothing more can be written down", async () => {
    control = await startTestControl();
    const sandbox = await control.create({ timeout: 600 });
    // In the way of the file that is written first.
    mkdirSync(`${control.paths.dataDir}/holder.json.${process.pid}.new`);
    control = await control.restart({ port: undefined });
    expect((await control.edge(sandbox, "/envs")).status).toBe(200);
    await expect(control.restart({}, "other")).rejects.toThrow(FailedPreconditionError);
  });

  it("may be reached by another path", async () => {
    control = await startTestControl();
    const sandbox = await control.create({ timeout: 600 });
    symlinkSync(control.paths.runDir, `${dirname(control.paths.runDir)}/link`);
    control = await control.restart({}, "link");
    expect((await control.edge(sandbox, "/envs")).status).toBe(200);
  });
});

describe("the port", () => {
  it("is that of the platform before, unless one is asked for or somebody else has it", async () => {
    control = await startTestControl();
    const { port } = control.platform.info;
    control = await control.restart({ port: undefined });
    expect(control.platform.info.port).toBe(port);
    await control.platform.close();
    const other = createServer().listen(port, "127.0.0.1");
    await once(other, "listening");
    try {
      control = await control.restart({ port: undefined });
      expect(control.platform.info.port).not.toBe(port);
      await expect(control.restart({ port })).rejects.toThrow(/--port/);
    } finally {
      other.close();
    }
  });
});

describe("the next platform", () => {
  it("takes running sandboxes over with token, end of life, metadata and the same key", async () => {
    control = await startTestControl();
    const sandbox = await control.create({ timeout: 500, metadata: { a: "b" } });
    const path = `/sandboxes/${sandbox.sandboxID}`;
    const before = await (await control.api("GET", path)).json();
    const { apiKey } = control.platform.info;
    control = await control.restart();
    expect(control.platform.info.apiKey).toBe(apiKey);
    const { domain: _old, ...rest } = before as { domain: string };
    expect(await (await control.api("GET", path)).json()).toMatchObject(rest);
    expect((await control.edge(sandbox, "/envs")).status).toBe(200);
    process.kill(control.driver.pidOf(sandbox.sandboxID), "SIGKILL");
    await expect.poll(async () => (await control.api("GET", path)).status).toBe(404);
  });

  it("buries what died, expired, was half made or belongs to nobody", async () => {
    control = await startTestControl();
    const [dead, expired, half, gone, alive] = await Promise.all(Array.from({ length: 5 }, () => control.create({ timeout: 600 })));
    if (!dead || !expired || !half || !gone || !alive) throw new Error("five were created");
    await control.platform.close();
    process.kill(control.driver.pidOf(dead.sandboxID), "SIGKILL");
    const store = new Store(control.paths.databaseFile);
    store.setEndAt(expired.sandboxID, new Date(Date.now() - 1));
    store.setState(half.sandboxID, "starting");
    store.delete(gone.sandboxID);
    store.close();
    control = await control.restart();
    expect(control.driver.ids()).toEqual([alive.sandboxID]);
    const listed = (await (await control.api("GET", "/v2/sandboxes")).json()) as { sandboxID: string }[];
    expect(listed.map((entry) => entry.sandboxID)).toEqual([alive.sandboxID]);
  });

  it("starts where no runtime works, and creations say what is missing until there is one", async () => {
    const driver = new ProcessDriver("/nonexistent");
    const open = driver.open.bind(driver);
    driver.open = async () => {
      throw new FailedPreconditionError("no OCI runtime works here; run abx setup");
    };
    control = await startTestControl({}, driver);
    const refused = await control.api("POST", "/v2/sandboxes", { templateID: "base" });
    expect(await refused.json()).toMatchObject({
      code: 409,
      message: "no OCI runtime works here; run abx setup",
      error_code: "failed_precondition",
    });
    expect(await (await control.api("GET", "/v2/sandboxes")).json()).toEqual([]);
    driver.open = open;
    driver.beforeCreate = async () => {
      throw new FailedPreconditionError("reached the runtime");
    };
    expect(await (await control.api("POST", "/v2/sandboxes", { templateID: "base" })).json()).toMatchObject({
      message: "reached the runtime",
    });
  });
});

describe("idle", () => {
  it("a platform with nothing to do stops itself and leaves nothing", async () => {
    control = await startTestControl({ idleTimeoutMs: 2_000, poolSize: 1 });
    await control.platform.closed;
    expect(control.driver.created).toBe(1);
    expect(control.driver.ids()).toEqual([]);
    expect(existsSync(control.paths.platformFile)).toBe(false);
  });

  it("a sandbox keeps it going for as long as there is one", async () => {
    const idleTimeoutMs = 60_000;
    // The platform's watch goes by the clock of the test, so that no load of the machine ends it sooner.
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    try {
      control = await startTestControl({ idleTimeoutMs });
      const { sandboxID } = await control.create();
      vi.advanceTimersByTime(20 * idleTimeoutMs);
      expect(control.log.join("")).not.toContain("platform.idle");
      expect((await control.api("GET", `/sandboxes/${sandboxID}`)).status).toBe(200);
      expect((await control.api("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
      vi.advanceTimersByTime(2 * idleTimeoutMs);
      await control.platform.closed;
      expect(control.log.join("")).toContain("platform.idle");
    } finally {
      vi.useRealTimers();
    }
  });
});
