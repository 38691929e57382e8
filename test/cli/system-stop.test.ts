import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { acquireInstanceLock } from "../../src/control/instance-lock.js";
import { findLeftovers } from "../support/leftovers.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, runAbx } from "../support/run-abx.js";
import { machineTemplatesDir } from "../support/test-platform.js";

describeOnPlatform("abx system stop", () => {
  let rootDir = "";
  let env: Record<string, string> = {};
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    rootDir = await mkdtemp(path.join(tmpdir(), "abx-stop-"));
    await chmod(rootDir, 0o711);
    const dataDir = path.join(rootDir, "data");
    await mkdir(dataDir, { mode: 0o711 });
    await symlink(machineTemplatesDir(), path.join(dataDir, "templates"));
    env = {
      AGENT_SANDBOX_DATA_DIR: dataDir,
      AGENT_SANDBOX_RUN_DIR: path.join(rootDir, "run"),
      AGENT_SANDBOX_POOL_SIZE: "0",
      HOME: rootDir,
    };
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map(ended));
    await rm(rootDir, { recursive: true, force: true });
  });

  const serve = async () => {
    const child = spawn(process.execPath, [ABX, "serve", "--json"], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(child);
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    return { child, ...(JSON.parse(chunk.toString()) as { readonly pid: number; readonly url: string }) };
  };
  const stop = async (...args: string[]) => runAbx(["system", "stop", ...args], { env });
  const abx = async (...args: string[]) => {
    const run = await runAbx(args, { env });
    expect(run, run.stderr).toMatchObject({ status: 0 });
    return run.stdout.trim();
  };

  it("ends the platform, whose sandboxes go on and are found again at the same address", async () => {
    const first = await serve();
    const id = await abx("create", "--timeout", "600", "--quiet");
    const stopped = await stop("--json");
    expect(stopped).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(stopped.stdout)).toEqual({ pid: first.pid, sandboxes: 1 });
    expect(await readdir(path.join(rootDir, "run"))).not.toContain("platform.json");
    expect(await readdir(path.join(rootDir, "data", "sandboxes"))).toContain(id);

    const elsewhere = await runAbx(["serve"], { env: { ...env, AGENT_SANDBOX_RUN_DIR: path.join(rootDir, "other") } });
    expect(elsewhere.status).toBe(1);
    for (const name of ["data", "run", "other"]) expect(elsewhere.stderr).toContain(path.join(rootDir, name));

    const second = await serve();
    expect(second.url).toBe(first.url);
    expect(await abx("exec", id, "--", "echo", "here")).toBe("here");
    await abx("kill", id);
    expect((await stop()).stderr).toContain(`pid ${second.pid}`);
    expect(await findLeftovers(rootDir)).toEqual([]);
  });

  it("takes the place of one that crashed, at the same address", async () => {
    const first = await serve();
    first.child.kill("SIGKILL");
    await ended(first.child);
    expect(JSON.parse((await stop("--json")).stdout)).toEqual({ pid: null, sandboxes: 0 });
    expect((await serve()).url).toBe(first.url);
  });

  it("has nothing to do where none runs, and sends no signal to a process that is not the platform", async () => {
    expect(JSON.parse((await stop("--json")).stdout)).toEqual({ pid: null, sandboxes: 0 });
    const bystander = spawn("sleep", ["600"], { stdio: "ignore" });
    children.push(bystander);
    const runDir = path.join(rootDir, "run");
    await mkdir(runDir, { mode: 0o700 });
    const file = { version: "0", pid: bystander.pid, port: 1, url: "http://127.0.0.1:1", apiKey: "key", startedAt: "2026-01-01T00:00:00Z" };
    await writeFile(path.join(runDir, "platform.json"), JSON.stringify(file), { mode: 0o600 });
    expect(await stop()).toMatchObject({ status: 0 });
    const lock = acquireInstanceLock(path.join(runDir, "platform.lock"));
    try {
      const refused = await stop();
      expect(refused).toMatchObject({ status: 1, stdout: "" });
      expect(refused.stderr).toContain("platform.lock");
    } finally {
      lock.release();
    }
    expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null]);
  });
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}
