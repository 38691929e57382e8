import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Driver, Instance, InstanceSpec } from "../../../src/control/drivers/driver.js";
import { createOciDriver } from "../../../src/control/drivers/oci/oci-driver.js";
import { findPackageFiles } from "../../../src/control/drivers/oci/package-files.js";
import { type PlatformPaths, preparePaths, resolvePaths } from "../../../src/control/paths.js";
import { createTemplateStore } from "../../../src/control/templates/template-store.js";
import { machineTemplatesDir } from "../../support/test-platform.js";

/** Why the real driver cannot be tested on this machine; `undefined` when it can. */
export function whyNoDriver(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs Linux and root";
  if (!existsSync(join(machineTemplatesDir(), "index.json"))) return "needs the base template: abx setup";
  try {
    findPackageFiles();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Paths of a platform of its own that shares the machine's templates. */
export interface TestPaths extends Disposable {
  readonly paths: PlatformPaths;
  /** Template build to start from. */
  readonly templateDir: string;
}

export function createTestPaths(): TestPaths {
  const root = mkdtempSync(join(tmpdir(), "abx-oci-"));
  // The kernel walks through it with the ids of a sandbox.
  chmodSync(root, 0o711);
  const paths = resolvePaths({ env: { AGENT_SANDBOX_DATA_DIR: join(root, "data"), AGENT_SANDBOX_RUN_DIR: join(root, "run") } });
  mkdirSync(paths.dataDir);
  symlinkSync(machineTemplatesDir(), paths.templatesDir);
  preparePaths(paths);
  return {
    paths,
    templateDir: createTemplateStore(paths.templatesDir).resolve("base").directory,
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A driver on `paths` that says nothing. */
export function createTestDriver({ paths }: TestPaths, runtimeNames?: readonly string[]): Driver {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  return createOciDriver({ paths, logger, ...(runtimeNames === undefined ? {} : { runtimeNames }) });
}

export function specOf({ templateDir }: TestPaths, id: string): InstanceSpec {
  return { id, templateDir, limits: { memoryBytes: 256 * 1024 * 1024, cpuCount: 1, pidsMax: 128 } };
}

/** Status of the daemon's health check. */
export async function healthOf(instance: Instance): Promise<number> {
  const socket = await instance.connect();
  try {
    return await new Promise((resolve, reject) => {
      const outgoing = request({ path: "/health", headers: { host: "localhost" }, createConnection: () => socket }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
  } finally {
    socket.destroy();
  }
}
