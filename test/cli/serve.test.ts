import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isProcessAlive } from "../../src/shared/process-lock-node.js";
import { findLeftovers } from "../support/leftovers.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, runAbx } from "../support/run-abx.js";
import { machineTemplatesDir } from "../support/test-platform.js";

describeOnPlatform("abx serve", () => {
  let rootDir = "";
  let env: Record<string, string> = {};
  beforeEach(async () => {
    rootDir = await mkdtemp(path.join(tmpdir(), "abx-serve-"));
    await chmod(rootDir, 0o711);
    env = {
      AGENT_SANDBOX_DATA_DIR: path.join(rootDir, "data"),
      AGENT_SANDBOX_RUN_DIR: path.join(rootDir, "run"),
      AGENT_SANDBOX_POOL_SIZE: "0",
    };
  });
  afterEach(() => rm(rootDir, { recursive: true, force: true }));

  /** Stops the platform that a command has started in the background. */
  const stopPlatform = async (): Promise<void> => {
    const { pid } = JSON.parse(await readFile(path.join(rootDir, "run", "platform.json"), "utf8")) as { readonly pid: number };
    process.kill(pid, "SIGTERM");
    while (isProcessAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it("prints its address without its key, keeps the key to this user, refuses a second one, and stops cleanly on SIGTERM", async () => {
    const child = spawn(process.execPath, [ABX, "serve", "--json"], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(child, "exit");
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    const printed = JSON.parse(chunk.toString()) as { readonly url: string; readonly pid: number; readonly platformFile: string };
    expect(printed).toMatchObject({ pid: child.pid });
    expect(chunk.toString()).not.toContain("apiKey");
    expect((await stat(printed.platformFile)).mode & 0o777).toBe(0o600);
    expect((await fetch(new URL("/health", printed.url))).ok).toBe(true);

    const second = await runAbx(["serve"], { env });
    expect(second.status).toBe(1);
    expect(second.stdout).toBe("");
    expect(second.stderr).toMatch(new RegExp(`pid ${child.pid}\\b.*abx system stop`));

    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    expect(await findLeftovers(rootDir)).toEqual([]);
  });

  it("logs a line for each request where it is asked to, for people too, and refuses a level that there is none of", async () => {
    const child = spawn(process.execPath, [ABX, "serve", "--json", "--log-level", "debug", "--log-format", "text"], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    const exited = once(child, "exit");
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    const { url } = JSON.parse(chunk.toString()) as { readonly url: string };
    await fetch(new URL("/health?hidden=1", url));
    await expect
      .poll(() => log)
      .toMatch(/^\S+Z DEBUG request method=GET requestId=\S+ operation=\w+ route=\/health status=\d+ .*durationMs=\S+$/m);
    expect(log).not.toContain("hidden");
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);

    expect((await runAbx(["serve", "--log-level", "loud"], { env })).status).toBe(2);
    const named = await runAbx(["serve"], { env: { ...env, AGENT_SANDBOX_LOG_LEVEL: "loud" } });
    expect(named.status).not.toBe(0);
    expect(named.stderr).toContain("debug, info, warn, error");
  });

  it("creates nothing without a template, and the message names abx setup", async () => {
    const run = await runAbx(["create"], { env });
    expect(run).toMatchObject({ stdout: "" });
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain("abx setup");
    await stopPlatform();
  });

  it("tells what this machine can isolate", async () => {
    const dataDir = path.join(rootDir, "data");
    await mkdir(dataDir, { mode: 0o711 });
    await symlink(machineTemplatesDir(), path.join(dataDir, "templates"));
    const run = await runAbx(["doctor", "--json"], { env });
    const report = JSON.parse(run.stdout) as { readonly isReady: boolean; readonly isolation: { readonly hostUidOfRoot: number } };
    expect(report.isReady).toBe(true);
    expect(report.isolation.hostUidOfRoot).toBeGreaterThanOrEqual(100_000);
  });
});
