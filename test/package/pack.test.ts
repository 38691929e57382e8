import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { VERSION } from "../../src/shared/version.js";
import { describeOnPlatform } from "../support/platform.js";
import { machineTemplatesDir } from "../support/test-platform.js";

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, "../..");
const MAX_PACKED_BYTES = 1_500_000;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

describeOnPlatform("the npm package", () => {
  let directory: string;
  let packed: Packed;
  let env: Record<string, string>;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "abx-pack-"));
    const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", directory], { cwd: ROOT });
    packed = (JSON.parse(stdout) as [Packed])[0];
    // Platforms that the project starts have directories of their own.
    await mkdir(path.join(directory, "data"), { mode: 0o711 });
    await symlink(machineTemplatesDir(), path.join(directory, "data", "templates"));
    const { PATH = "", HOME = "" } = process.env;
    env = { PATH, HOME, AGENT_SANDBOX_DATA_DIR: path.join(directory, "data"), AGENT_SANDBOX_RUN_DIR: path.join(directory, "run") };
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("has what it needs and nothing else", async () => {
    const files = packed.files.map((file) => file.path);
    const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")) as Record<
      "version" | "exports" | "imports" | "bin",
      unknown
    >;
    const promised = [manifest.exports, manifest.imports, manifest.bin].flatMap(targetsOf);
    expect(promised.length).toBeGreaterThan(20);
    for (const target of promised) expect(files).toContain(target.replace("./", ""));
    for (const name of [
      "README.md",
      "LICENSE",
      "CHANGELOG.md",
      "SECURITY.md",
      "SKILL.md",
      "openapi/lifecycle.yaml",
      "proto/process/process.proto",
    ])
      expect(files).toContain(name);
    expect(files.filter((file) => !/^(dist|openapi|proto)\/|^[A-Z]+(\.md)?$|^package\.json$/.test(file))).toEqual([]);
    expect(files.filter((file) => /\.(map|ts|tsbuildinfo)$/.test(file) && !file.endsWith(".d.ts"))).toEqual([]);
    expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
    expect(manifest.version).toBe(VERSION);
  });

  it("runs the quickstart in an empty project, on the platform that it starts itself", async () => {
    const project = path.join(directory, "project");
    await mkdir(project);
    await writeFile(path.join(project, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }));
    await run(
      "npm",
      ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", path.join(directory, packed.filename)],
      { cwd: project },
    );
    const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
    const quickstart = /```ts\n(import \{ Sandbox \}[\s\S]*?)```/.exec(readme)?.[1];
    await writeFile(path.join(project, "quickstart.mjs"), quickstart ?? "");
    try {
      const { stdout } = await run(process.execPath, ["quickstart.mjs"], { cwd: project, env });
      expect(stdout).toBe("42\n");
      const abx = (...args: string[]) => run(path.join(project, "node_modules/.bin/abx"), args, { cwd: project, env });
      expect((await abx("--version")).stdout.trim()).toBe(VERSION);
      expect(JSON.parse((await abx("list", "--json")).stdout)).toEqual([]);
    } finally {
      await stopPlatform(path.join(directory, "run", "platform.json"));
    }
  });

  const stopPlatform = async (file: string): Promise<void> => {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return;
    process.kill((JSON.parse(text) as { readonly pid: number }).pid, "SIGTERM");
    await vi.waitFor(() => expect(readFile(file)).rejects.toThrow(), { timeout: 20_000 });
  };
});

/** Files that conditions lead to; `source` is for this repository alone. */
function targetsOf(conditions: unknown): string[] {
  if (typeof conditions === "string") return [conditions];
  return Object.entries(conditions as object).flatMap(([name, target]) => (name === "source" ? [] : targetsOf(target)));
}
