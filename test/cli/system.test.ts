import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireInstanceLock } from "../../src/control/instance-lock.js";
import { VERSION } from "../../src/shared/version.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv, runAbx } from "../support/run-abx.js";
import { HAS_TMUX, openTmux } from "../support/tmux.js";

let rootDir = "";
let env: Record<string, string> = {};
beforeEach(async () => {
  rootDir = await mkdtemp(path.join(tmpdir(), "abx-system-"));
  await chmod(rootDir, 0o711);
  env = {
    AGENT_SANDBOX_DATA_DIR: path.join(rootDir, "data"),
    AGENT_SANDBOX_RUN_DIR: path.join(rootDir, "run"),
    AGENT_SANDBOX_POOL_SIZE: "0",
    HOME: rootDir,
  };
});
afterEach(() => rm(rootDir, { recursive: true, force: true }));
const system = (args: readonly string[], more: Record<string, string> = {}) => runAbx(["system", ...args], { env: { ...env, ...more } });
const json = async (args: readonly string[], more: Record<string, string> = {}) => {
  const { status, stdout, stderr } = await system([...args, "--json"], more);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe("abx system, of the platform of this machine", () => {
  it("tells without starting one that none runs, and what would", async () => {
    expect(await json(["info"])).toEqual({
      platform: "local",
      isRunning: false,
      dataDir: env.AGENT_SANDBOX_DATA_DIR,
      runDir: env.AGENT_SANDBOX_RUN_DIR,
      logFile: `${env.AGENT_SANDBOX_RUN_DIR}/platform.log`,
    });
    expect(await json(["version"])).toMatchObject({ abx: VERSION, platform: null });
    for (const command of ["health", "metrics"]) {
      const run = await system([command]);
      expect(run, command).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("abx serve") as string });
    }
    expect(await readdir(rootDir)).toEqual([]);
  });
});

describe("abx system prune", () => {
  /** A template with a tag on a layer, one build without a tag on another, a cached step, an upload, and a sandbox on a layer of its own. */
  async function fill(): Promise<Record<"templates" | "tagged" | "untagged" | "layers", string>> {
    const data = env.AGENT_SANDBOX_DATA_DIR ?? "";
    const templates = path.join(data, "templates");
    const templateId = "a".repeat(20);
    const [tagged, untagged] = [randomUUID(), randomUUID()];
    const layers = path.join(templates, "layers");
    for (const name of ["of-tagged", "of-untagged", "of-sandbox", "cached", ".new-left"]) {
      await mkdir(path.join(layers, name), { recursive: true });
      await writeFile(path.join(layers, name, "file"), "x".repeat(10_000));
    }
    await mkdir(path.join(layers, ".cache"));
    await symlink("../cached", path.join(layers, ".cache", "k1"));
    await symlink("of-tagged", path.join(layers, ".cache", "k2"));
    for (const [buildId, layer] of [
      [tagged, "of-tagged"],
      [untagged, "of-untagged"],
    ] as const) {
      const directory = path.join(templates, templateId, buildId);
      await mkdir(directory, { recursive: true });
      await writeFile(path.join(directory, "template.json"), JSON.stringify({ templateId, buildId, layers: [`../../layers/${layer}`] }));
    }
    await writeFile(path.join(templates, "index.json"), JSON.stringify({ [templateId]: { aliases: ["mine"], tags: { default: tagged } } }));
    await mkdir(path.join(templates, "uploads", templateId), { recursive: true });
    await writeFile(path.join(templates, "uploads", templateId, "hash"), "upload");
    const sandbox = path.join(data, "sandboxes", "i1");
    await mkdir(sandbox, { recursive: true });
    // By another way to the same directory, as where the data directory is a link.
    await symlink(data, path.join(rootDir, "other-way"));
    await symlink(path.join(rootDir, "other-way", "templates", "layers", "of-sandbox"), path.join(sandbox, "l0"));
    return { templates, tagged: path.join(templates, templateId, tagged), untagged: path.join(templates, templateId, untagged), layers };
  }
  const kinds = ({ items }: Record<string, unknown>) =>
    (items as { kind: string; path: string }[]).map(({ kind, path: item }) => `${kind} ${path.basename(item)}`).sort();

  it("removes what nothing stands on, tells it first when asked to, and keeps all else", async () => {
    const { tagged, untagged, layers } = await fill();
    const expected = ["build", "layer .new-left", "layer cached", "layer of-untagged", "upload hash"];
    const planned = await json(["prune", "--dry-run"]);
    expect(kinds(planned).map((line) => line.replace(/^build .*/, "build"))).toEqual(expected);
    expect(planned.freedBytes).toBeGreaterThan(30_000);
    expect(existsSync(untagged)).toBe(true);

    expect(kinds(await json(["prune"]))).toEqual(kinds(planned));
    expect(existsSync(untagged)).toBe(false);
    expect(existsSync(tagged)).toBe(true);
    expect((await readdir(layers)).sort()).toEqual([".cache", "of-sandbox", "of-tagged"]);
    expect(await readdir(path.join(layers, ".cache"))).toEqual(["k2"]);
    expect(await json(["prune"])).toMatchObject({ items: [], freedBytes: 0 });
    expect(await runAbx(["system", "prune", "--quiet"], { env })).toMatchObject({ status: 0, stdout: "", stderr: "" });
  });

  it("touches nothing while a platform runs, and no template where the table of names is missing", async () => {
    const { templates, untagged } = await fill();
    await mkdir(env.AGENT_SANDBOX_RUN_DIR ?? "", { mode: 0o700 });
    const lock = acquireInstanceLock(path.join(env.AGENT_SANDBOX_RUN_DIR ?? "", "platform.lock"));
    try {
      expect(await system(["prune", "--json"])).toMatchObject({ status: 1, stdout: "" });
    } finally {
      lock.release();
    }
    await rm(path.join(templates, "index.json"));
    expect(kinds(await json(["prune"]))).toEqual(["layer .new-left", "layer cached", "upload hash"]);
    expect(existsSync(untagged)).toBe(true);
  });

  it("has nothing to do on a machine without a platform", async () => {
    expect(await json(["prune"])).toEqual({ isDryRun: false, freedBytes: 0, items: [] });
    expect(await readdir(rootDir)).toEqual([]);
  });
});

describeOnPlatform("abx system, of what runs", (platform) => {
  const server = platformEnv(platform);

  it("describes the one that runs, and never its key", async () => {
    const child = spawn(process.execPath, [ABX, "serve", "--json"], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [chunk] = (await once(child.stdout, "data")) as [Buffer];
      const { url } = JSON.parse(chunk.toString()) as { readonly url: string };
      const info = await json(["info"]);
      expect(info).toMatchObject({ isRunning: true, pid: child.pid, url, version: VERSION });
      expect(JSON.stringify(info)).not.toMatch(/key/i);
      expect(await json(["health"])).toMatchObject({ status: "ok" });
      expect(await json(["version"])).toMatchObject({ platform: VERSION });
      expect(await json(["metrics"])).toMatchObject({ running: 0, paused: 0, memoryBytes: 0, diskFreeBytes: expect.any(Number) as number });
      const refused = await system(["prune"]);
      expect(refused).toMatchObject({ status: 1, stdout: "" });
      expect(refused.stderr).toMatch(/platform of this machine runs/);
      const elsewhere = await system(["prune"], { AGENT_SANDBOX_RUN_DIR: path.join(rootDir, "other") });
      expect(elsewhere).toMatchObject({ status: 1, stdout: "" });
      expect(elsewhere.stderr).toContain(`pid ${child.pid}, run directory ${env.AGENT_SANDBOX_RUN_DIR}`);
    } finally {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
  });

  it("shows where it leads and whether there is a key, and no credential", async () => {
    const info = await json(["info"], { ...server, AGENT_SANDBOX_PROXY: "http://user:hidden@127.0.0.1:9" });
    expect(info).toMatchObject({ platform: "cloud", apiUrl: platform.apiUrl, hasApiKey: true, hasProxy: true });
    expect(JSON.stringify(info)).not.toContain(platform.apiKey);
    expect(JSON.stringify(info)).not.toContain("hidden");
  });

  it("tells by its status whether the server answers and takes the key", async () => {
    expect(await json(["health"], server)).toMatchObject({ status: "ok" });
    expect((await system(["health"], { ...server, AGENT_SANDBOX_API_KEY: "e2b_00" })).status).toBe(3);
    expect((await system(["health"], { ...server, AGENT_SANDBOX_API_URL: "http://127.0.0.1:9" })).status).toBe(1);
    expect((await system(["nonsense"], server)).status).toBe(2);
    const totals = await json(["metrics"], server);
    expect(Object.values(totals).every((value) => typeof value === "number")).toBe(true);
    expect(totals).not.toHaveProperty("diskFreeBytes");
  });

  it.runIf(HAS_TMUX)("prints a table in a terminal", async () => {
    await using terminal = await openTmux({ ...env, ...server, abx: `${process.execPath} ${ABX}` }, '$abx system info; echo "status=$?"');
    expect(await terminal.until(/status=0/)).toMatch(/NAME +VALUE[\s\S]*apiUrl +http:\/\/127\.0\.0\.1/);
  });
});
