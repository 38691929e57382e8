import { execFile, execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");
const SCRIPT = path.join(ROOT, "scripts/contract-diff/run.mjs");

/** Why the comparison cannot run here, if so. */
function obstacle(): string | undefined {
  try {
    execFileSync("go", ["list", "-m"], { cwd: path.dirname(SCRIPT), env: { ...process.env, GOTOOLCHAIN: "local" }, stdio: "ignore" });
    execFileSync("git", ["cat-file", "-e", "HEAD:buf.yaml"], { cwd: ROOT, stdio: "ignore" });
    return undefined;
  } catch {
    return "needs Go and a git clone";
  }
}

const why = obstacle();

describe.skipIf(why)(`make contract-diff${why === undefined ? "" : ` (skipped: ${why})`}`, () => {
  let tree: string;
  beforeAll(async () => {
    tree = await mkdtemp(path.join(tmpdir(), "abx-contract-"));
    for (const name of ["proto", "buf.yaml", "gen/openapi"]) {
      await cp(path.join(ROOT, name), path.join(tree, name), { recursive: true });
    }
  });
  afterAll(() => rm(tree, { recursive: true, force: true }));

  const edit = async (name: string, change: (text: string) => string): Promise<void> => {
    const file = path.join(tree, name);
    const text = await readFile(file, "utf8");
    const changed = change(text);
    expect(changed).not.toBe(text);
    await writeFile(file, changed);
  };

  // On a new machine the comparison is compiled first.
  it("tells breaking changes from others, in proto and OpenAPI", { timeout: 300_000 }, async () => {
    await edit("proto/filesystem/filesystem.proto", (text) =>
      text
        .replace(/message StatRequest \{[\s\S]*?string path = 1;/, (part) => part.replace("string path = 1;", "string place = 1;"))
        .replace(/message StatRequest \{/, "message StatRequest {\n  // Added by the test.\n  bool added_by_test = 99;\n"),
    );
    await edit("gen/openapi/lifecycle.yaml", (text) => text.replace(/\n {2}\/sandboxes\/\{sandboxID\}\/pause:[\s\S]*?(?=\n {2}\/)/, ""));
    const { stdout } = await promisify(execFile)("node", [SCRIPT, "HEAD", tree], { cwd: ROOT });
    const [breaking = "", other = ""] = stdout.split("not breaking:");
    expect(breaking).toMatch(/proto .*StatRequest.*"place"|proto .*"path".*"place"/);
    expect(breaking).toMatch(/openapi {2}lifecycle\.yaml: POST \/sandboxes\/\{sandboxID\}\/pause/);
    expect(other).toContain("field filesystem.StatRequest.added_by_test = 99 TYPE_BOOL");
  });

  it("says what is wrong with a revision", async () => {
    const run = promisify(execFile)("node", [SCRIPT, "no-such-revision"], { cwd: ROOT });
    await expect(run).rejects.toMatchObject({ stderr: expect.stringContaining("no-such-revision") });
  });
});
