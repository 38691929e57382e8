import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { Sandbox } from "../../src/index.js";
import { findOrStartLocalPlatform } from "../../src/node/index.js";
import { startTestPlatform } from "../../src/testing/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { machineTemplatesDir } from "../support/test-platform.js";

describeOnPlatform("startTestPlatform", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("starts a platform of its own, and leaves nothing of it when it is stopped", async () => {
    const temporary = await mkdtemp(path.join(tmpdir(), "abx-own-"));
    vi.stubEnv("TMPDIR", temporary);
    const platform = await startTestPlatform({ isolated: true });
    expect(platform.isShared).toBe(false);
    const sandbox = await Sandbox.create(platform.connection);
    expect((await sandbox.commands.run("echo works")).stdout).toBe("works\n");
    expect(await Sandbox.list(platform.connection).toArray()).toHaveLength(1);
    await platform.stop();
    await platform.stop();
    await expect(fetch(new URL("/health", platform.connection.apiUrl))).rejects.toThrow();
    expect((await readdir(temporary)).filter((name) => name.startsWith("agent-sandbox-test-"))).toEqual([]);
    await rm(temporary, { recursive: true, force: true });
  });

  it("removes what platforms of killed suites left, and nothing that is in use", async () => {
    const temporary = await mkdtemp(path.join(tmpdir(), "abx-stale-"));
    vi.stubEnv("TMPDIR", temporary);
    const leave = async (name: string, files: Readonly<Record<string, string>>, isNew = false) => {
      const directory = path.join(temporary, `agent-sandbox-test-${name}`);
      for (const [file, text] of Object.entries(files)) {
        await mkdir(path.join(directory, path.dirname(file)), { recursive: true });
        await writeFile(path.join(directory, file), text);
      }
      if (!isNew) await utimes(directory, 0, 0);
    };
    const dead = "4194305 1 token";
    const platformFile = (pid: number) =>
      JSON.stringify({ version: "1", pid, port: 1, url: "http://127.0.0.1:1", apiKey: "k", startedAt: "then" });
    const [, startTime] = /^(?:\S+ ){19}(\S+)/.exec((await readFile("/proc/self/stat", "utf8")).replace(/^.*\) /, "")) ?? [];
    await leave("killed", { "owner.lock": dead, "run/platform.json": platformFile(4_194_305), "data/platform.db": "" });
    await leave("unlocked", { "data/platform.db": "" });
    await leave("new", { "data/platform.db": "" }, true);
    await leave("owned", { "owner.lock": `${process.pid} ${startTime} token` });
    await leave("running", { "owner.lock": dead, "run/platform.json": platformFile(process.pid) });
    await leave("sandboxes", { "owner.lock": dead, "data/sandboxes/i1/config.json": "" });
    await (await startTestPlatform({ isolated: true })).stop();
    const left = ["new", "owned", "running", "sandboxes"].map((name) => `agent-sandbox-test-${name}`);
    expect((await readdir(temporary)).filter((name) => name.startsWith("agent-sandbox-test-")).sort()).toEqual(left);
    await rm(temporary, { recursive: true, force: true });
  });

  it("uses the platform of this user where it runs, in milliseconds, and leaves it running", async () => {
    const templatesDir = machineTemplatesDir();
    const root = await mkdtemp(path.join(tmpdir(), "abx-shared-"));
    await mkdir(path.join(root, "data"), { mode: 0o711 });
    await symlink(templatesDir, path.join(root, "data", "templates"));
    vi.stubEnv("AGENT_SANDBOX_DATA_DIR", path.join(root, "data"));
    vi.stubEnv("AGENT_SANDBOX_RUN_DIR", path.join(root, "run"));
    const local = await findOrStartLocalPlatform();
    const { pid } = JSON.parse(await readFile(path.join(root, "run", "platform.json"), "utf8")) as { pid: number };
    try {
      const startedAt = performance.now();
      const platform = await startTestPlatform();
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      expect(platform).toMatchObject({ isShared: true, connection: local, env: { AGENT_SANDBOX_API_KEY: local.apiKey } });
      await platform.stop();
      expect((await fetch(new URL("/health", local.apiUrl))).ok).toBe(true);
    } finally {
      process.kill(pid, "SIGTERM");
      while (
        await fetch(new URL("/health", local.apiUrl)).then(
          () => true,
          () => false,
        )
      );
      // It removes its own files last.
      await vi.waitFor(async () => expect(await readdir(path.join(root, "run"))).not.toContain("platform.json"));
      await rm(root, { recursive: true, force: true });
    }
  });

  it("says what to do on a machine that is not prepared", async () => {
    const root = await mkdtemp(path.join(tmpdir(), "abx-bare-"));
    vi.stubEnv("AGENT_SANDBOX_DATA_DIR", root);
    await expect(startTestPlatform({ isolated: true })).rejects.toMatchObject({ message: expect.stringContaining("abx setup") });
    await rm(root, { recursive: true });
  });
});
