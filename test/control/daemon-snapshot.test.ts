import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startSnapshotBuild } from "../../src/control/drivers/oci/daemon-snapshot.js";
import { findPackageFiles } from "../../src/control/drivers/oci/package-files.js";
import { prepareRuntimeDir } from "../../src/control/drivers/oci/runtime-dir.js";
import { createLogger } from "../../src/control/logger.js";

let root: string;
let log: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "snapshot-"));
  log = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const files = findPackageFiles();
const logger = createLogger((line) => void log.push(line));
const prepare = () => prepareRuntimeDir(root, files);

// It is made at the lowest priority, and other tests run beside this one.
describe("the snapshot of the daemon", { timeout: 120_000 }, () => {
  it("starts a daemon that answers, with its native add-ons", async () => {
    const runtimeDir = prepare();
    await startSnapshotBuild(runtimeDir, files, logger).done;
    expect(statSync(join(runtimeDir, "daemon.blob")).mode & 0o777).toBe(0o644);
    const socketPath = join(root, "socket");
    const daemon = spawn(join(runtimeDir, "node"), [
      "--snapshot-blob",
      join(runtimeDir, "daemon.blob"),
      "daemon.mjs",
      "--socket",
      socketPath,
    ]);
    try {
      await expect.poll(() => existsSync(socketPath), { timeout: 20_000, interval: 20 }).toBe(true);
      expect(await statusOf(socketPath, "/health")).toBe(204);
      expect(readFileSync(`/proc/${daemon.pid}/maps`, "utf8")).toContain("koffi.node");
    } finally {
      daemon.kill("SIGKILL");
      await once(daemon, "exit");
    }
  });

  it("is built once", async () => {
    const runtimeDir = prepare();
    writeFileSync(join(runtimeDir, "daemon.blob"), "there");
    await startSnapshotBuild(runtimeDir, files, logger).done;
    expect(statSync(join(runtimeDir, "daemon.blob")).size).toBe("there".length);
  });

  it("that does not start is not kept", async () => {
    const runtimeDir = prepare();
    const broken = join(root, "broken.cjs");
    writeFileSync(broken, "require('node:v8').startupSnapshot.setDeserializeMainFunction(() => process.exit(7));");
    await startSnapshotBuild(runtimeDir, { ...files, snapshot: broken }, logger).done;
    expect(readdirSync(runtimeDir).filter((name) => name.startsWith("daemon.blob"))).toEqual([]);
    expect(log.join()).toContain("snapshot.failed");
  });

  it("that is cancelled leaves nothing", async () => {
    const runtimeDir = prepare();
    const build = startSnapshotBuild(runtimeDir, files, logger);
    await sleep(50);
    await build.cancel();
    expect(readdirSync(runtimeDir).filter((name) => name.startsWith("daemon.blob"))).toEqual([]);
    expect(log).toEqual([]);
  });
});

function statusOf(socketPath: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
