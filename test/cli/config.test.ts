import { execFileSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runAbx } from "../support/run-abx.js";

describe("abx config", () => {
  let home: string;
  let file: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), "abx-config-"));
    file = path.join(home, "agent-sandbox", "config.toml");
  });
  afterEach(() => rm(home, { recursive: true, force: true }));
  const config = (args: string[], input?: string) =>
    runAbx(["config", ...args], { env: { XDG_CONFIG_HOME: home }, ...(input !== undefined && { input }) });

  it("sets, shows and deletes, keeps a key to itself and takes it from stdin", async () => {
    expect(await config(["set", "api_key"], "e2b_0123\n")).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect((await config(["set", "api_url", "http://127.0.0.1:9"])).status).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const listed = await config(["list", "--json"]);
    expect(JSON.parse(listed.stdout)).toEqual({ file, settings: { api_key: "(set)", api_url: "http://127.0.0.1:9" } });
    expect((await config(["list"])).stdout).not.toContain("e2b_0123");
    expect((await config(["get", "api_key"])).stdout).toBe("e2b_0123\n");
    // Other commands use it: nobody listens on that port.
    expect((await runAbx(["list"], { env: { XDG_CONFIG_HOME: home } })).stderr).toContain("127.0.0.1:9");
    expect((await config(["delete", "api_key"])).status).toBe(0);
    expect((await config(["delete", "api_key"])).status).toBe(0);
    expect((await config(["get", "api_key"])).status).toBe(4);
  });

  it("leaves comments, sections and other settings as they are", async () => {
    await mkdir(path.dirname(file));
    await writeFile(file, '# mine\ndomain = "a.example"\nother_tool = 1\n\n[profiles]\napi_url = "kept"\n');
    await config(["set", "domain", 'b"\\.example']);
    expect(await readFile(file, "utf8")).toBe('# mine\nother_tool = 1\ndomain = "b\\"\\\\.example"\n\n[profiles]\napi_url = "kept"\n');
    expect((await config(["get", "domain"])).stdout).toBe('b"\\.example\n');
    await config(["delete", "domain"]);
    expect(await readFile(file, "utf8")).toBe('# mine\nother_tool = 1\n\n[profiles]\napi_url = "kept"\n');
  });

  it("loses no setting when several are written at once, and breaks the lock of one that died", async () => {
    await mkdir(path.dirname(file));
    await writeFile(`${file}.lock`, "4194305 1 died");
    const names = ["domain", "region", "api_url", "sandbox_url", "volume_url", "proxy"];
    for (const run of await Promise.all(names.map((name) => config(["set", name, `of-${name}`]))))
      expect(run).toMatchObject({ status: 0, stderr: "" });
    const { settings } = JSON.parse((await config(["list", "--json"])).stdout) as { settings: Record<string, string> };
    expect(Object.keys(settings).sort()).toEqual([...names].sort());
    expect(await readdir(path.dirname(file))).toEqual(["config.toml"]);
  });

  it("writes through a link, and leaves nothing with a key in it where the file cannot be replaced", async () => {
    await mkdir(path.dirname(file));
    const elsewhere = path.join(home, "dotfiles.toml");
    await writeFile(elsewhere, "# mine\n");
    await symlink(elsewhere, file);
    expect((await config(["set", "api_key", "e2b_0123"])).status).toBe(0);
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect(await readFile(elsewhere, "utf8")).toBe('# mine\napi_key = "e2b_0123"\n');
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o600);

    const full = await mkdtemp(path.join(tmpdir(), "abx-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8k", "tmpfs", full]);
    try {
      await mkdir(path.join(full, "agent-sandbox"));
      await writeFile(path.join(full, "filler"), Buffer.alloc(4_096)).catch(() => undefined);
      const failed = await runAbx(["config", "set", "api_key", "k".repeat(9_000)], { env: { XDG_CONFIG_HOME: full } });
      expect(failed).toMatchObject({ status: 1, stderr: expect.stringContaining("ENOSPC") });
      expect(await readdir(path.join(full, "agent-sandbox"))).toEqual([]);
    } finally {
      execFileSync("umount", [full]);
      await rm(full, { recursive: true });
    }
  });

  it("CLI-06: refuses names that are none, and empty values", async () => {
    expect(await config(["set", "colour", "blue"])).toMatchObject({ status: 2, stdout: "" });
    expect((await config(["set", "domain", ""])).status).toBe(2);
    expect((await config(["set", "domain"], "")).status).toBe(2);
    expect((await config(["list"])).status).toBe(0);
  });

  it("CLI-08: reads nothing into a home that cannot be used", async () => {
    await writeFile(path.join(home, "file"), "");
    const env = { XDG_CONFIG_HOME: path.join(home, "file") };
    expect(await runAbx(["config", "list", "--quiet"], { env })).toMatchObject({ status: 0, stderr: "" });
    const failed = await runAbx(["config", "set", "domain", "a.example"], { env });
    expect(failed.status).toBe(1);
    expect(failed.stderr).not.toContain("    at ");
  });
});
