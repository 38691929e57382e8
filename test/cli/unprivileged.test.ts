import { execFile, execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parsePlatformFile } from "../../src/shared/platform-dirs.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX } from "../support/run-abx.js";

const NOBODY = 65_534;
const canTry = process.getuid?.() === 0 && isReadableTo(NOBODY);

/** A checkout below a private home is not. */
function isReadableTo(uid: number): boolean {
  try {
    execFileSync(process.execPath, ["--check", ABX], { uid, gid: uid, stdio: "ignore", env: {} });
    return true;
  } catch {
    return false;
  }
}

/** What a user who is not root learns; nothing is ever run without isolation. */
describe.skipIf(!canTry)("abx as a user without rights", () => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "abx-nobody-"));
    chownSync(home, NOBODY, NOBODY);
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  const abx = (...args: string[]) =>
    new Promise<{ status: number; stdout: string; stderr: string }>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: home };
      execFile(process.execPath, [ABX, ...args], { uid: NOBODY, gid: NOBODY, env, cwd: "/" }, (error, stdout, stderr) =>
        resolve({ status: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      );
    });

  it("doctor lists what is there and what is missing, each with what to do", async () => {
    const { status, stdout, stderr } = await abx("doctor", "--json");
    expect(stderr).toBe("");
    expect(status).toBe(1);
    const report = JSON.parse(stdout) as { isReady: boolean; checks: { name: string; status: string; detail: string; fix?: string }[] };
    expect(report.isReady).toBe(false);
    const byName = new Map(report.checks.map((check) => [check.name, check]));
    expect(byName.get("user")).toMatchObject({ status: "missing", fix: expect.stringContaining("sudo abx serve") });
    expect(byName.get("own user ids")?.detail).toContain("/etc/subuid");
    expect(byName.get("own cgroup")).toBeDefined();
    expect(byName.get("templates")).toMatchObject({ status: "missing" });
    for (const check of report.checks.filter((candidate) => candidate.status === "missing")) expect(check.fix).toMatch(/abx/);
  });

  it("setup changes nothing and says what to run", async () => {
    const { status, stdout, stderr } = await abx("setup");
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/need root: run sudo abx setup once, then sudo abx serve/);
  });

  it("a creation says that root is needed, not that a template is missing", async () => {
    try {
      const { status, stderr } = await abx("create");
      expect(status).toBe(1);
      expect(stderr).toMatch(/need root: run sudo abx setup once, then sudo abx serve/);
    } finally {
      const platform = parsePlatformFile(readFileSync(join(home, "agent-sandbox/platform.json"), "utf8"));
      if (platform !== undefined) await stopped(platform.pid);
    }
  });
});

describeOnPlatform("abx as a user without rights who has the address and the key of root's platform", (platform) => {
  it.skipIf(!canTry)("creates, runs commands and kills", async () => {
    const abx = async (...args: string[]) => {
      const env = { PATH: process.env.PATH, HOME: "/", AGENT_SANDBOX_API_URL: platform.apiUrl, AGENT_SANDBOX_API_KEY: platform.apiKey };
      return (await promisify(execFile)(process.execPath, [ABX, ...args], { uid: NOBODY, gid: NOBODY, env, cwd: "/" })).stdout.trim();
    };
    const id = await abx("create", "--quiet");
    expect(await abx("exec", id, "--", "echo", "here")).toBe("here");
    await abx("kill", id);
  });
});

async function stopped(pid: number): Promise<void> {
  process.kill(pid, "SIGTERM");
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(isThere, { timeout: 10_000 }).toBe(false);
}
