import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../../src/control/logger.js";
import { type PlatformPaths, resolvePaths } from "../../../src/control/paths.js";
import { openPlatform, type Platform, type PlatformSettings } from "../../../src/control/platform.js";
import type { TemplateResolver } from "../../../src/control/template-resolver.js";
import { createTemplateStore } from "../../../src/control/templates/template-store.js";
import { TemplateError } from "../../../src/errors/error-classes.js";
import { ProcessDriver } from "./process-driver.js";

/** Templates that exist in these tests: `base`, with an id, on nothing but a name. */
const TEMPLATES: TemplateResolver = {
  resolve(reference) {
    const name = reference.trim().toLowerCase();
    if (name !== "base" && name !== "basetemplate00000000") throw new TemplateError(`template '${reference}' not found`);
    return {
      templateId: "basetemplate00000000",
      buildId: "00000000-0000-4000-8000-000000000000",
      alias: "base",
      dir: "/nonexistent",
      limits: { memoryBytes: 512 * 1024 * 1024, cpuCount: 2, pidsMax: 1024 },
      diskSizeMb: 0,
    };
  },
};

/** A platform of its own with the process driver. */
export interface TestControl {
  readonly platform: Platform;
  readonly driver: ProcessDriver;
  readonly paths: PlatformPaths;
  readonly log: readonly string[];
  /** `listener` runs in the step of the platform that writes a line. */
  watchLog(listener: (line: string) => void): void;
  readonly url: string;
  /** `fetch` with the key; `path` is relative to the API. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Create a sandbox and give its wire object. */
  create(body?: Record<string, unknown>): Promise<CreatedSandbox>;
  /** `fetch` through the edge by headers. */
  edge(sandbox: { sandboxID: string; envdAccessToken?: string }, path: string, init?: RequestInit & { port?: number }): Promise<Response>;
  /** Stop it, leave sandboxes alone and start the next one on the same directories. */
  restart(settings?: Partial<PlatformSettings>, runDirName?: string): Promise<TestControl>;
  /** Stop it and destroy everything. */
  stop(): Promise<void>;
}

export interface CreatedSandbox {
  readonly sandboxID: string;
  readonly envdAccessToken?: string;
  readonly domain: string;
  readonly templateID: string;
  readonly alias?: string;
}

interface Place {
  readonly root: string;
  readonly children: Map<string, ChildProcess>;
  readonly runDirName?: string;
}

/** Start a platform in a directory of its own. */
export async function startTestControl(settings: Partial<PlatformSettings> = {}, driver?: ProcessDriver): Promise<TestControl> {
  const root = mkdtempSync(join(tmpdir(), "abx-control-"));
  mkdirSync(join(root, "daemons"));
  return openAt({ root, children: new Map() }, settings, driver);
}

async function openAt(place: Place, settings: Partial<PlatformSettings>, givenDriver?: ProcessDriver): Promise<TestControl> {
  const { root, children, runDirName = "run" } = place;
  const paths = resolvePaths({ env: { AGENT_SANDBOX_DATA_DIR: join(root, "data"), AGENT_SANDBOX_RUN_DIR: join(root, runDirName) } });
  const driver = givenDriver ?? new ProcessDriver(join(root, "daemons"), children);
  const templateStore = createTemplateStore(paths.templatesDir);
  const log: string[] = [];
  let onLogLine: (line: string) => void = () => {};
  const write = (line: string) => {
    log.push(line);
    onLogLine(line);
  };
  const logger = createLogger(write, { level: "debug" });
  const defaults = {
    port: 0,
    host: "127.0.0.1",
    domain: "localhost",
    poolSize: 0,
    maxSandboxes: 500,
    minFreeBytes: 0,
    idleTimeoutMs: 0,
    checkAnswers: true,
  };
  const platform = await openPlatform({ paths, driver, templates: TEMPLATES, templateStore, logger }, { ...defaults, ...settings });
  const { url, apiKey } = platform.info;

  const api: TestControl["api"] = (method, path, body, headers = {}) =>
    fetch(url + path, {
      method,
      headers: { "x-api-key": apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });

  return {
    platform,
    driver,
    paths,
    log,
    watchLog(listener) {
      onLogLine = listener;
    },
    url,
    api,
    async create(body = {}) {
      const response = await api("POST", "/v2/sandboxes", { templateID: "base", ...body });
      if (response.status !== 201) throw new Error(`create answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as CreatedSandbox;
    },
    edge(sandbox, path, { port = 49983, ...init } = {}) {
      const headers = new Headers(init.headers);
      headers.set("E2b-Sandbox-Id", sandbox.sandboxID);
      headers.set("E2b-Sandbox-Port", String(port));
      if (sandbox.envdAccessToken !== undefined) headers.set("X-Access-Token", sandbox.envdAccessToken);
      return fetch(url + path, { redirect: "manual", ...init, headers });
    },
    async restart(next = {}, runDirName = "run") {
      await platform.close();
      return openAt({ ...place, runDirName }, next);
    },
    async stop() {
      await platform.close();
      for (const { instance } of await driver.list()) await instance.destroy();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
