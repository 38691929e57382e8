import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox, Template } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv, runAbx } from "../support/run-abx.js";

const BUILD_MS = 120_000;

describe("abx template init", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "abx-template-"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("writes files to begin with, and never over a file", async () => {
    const made = await runAbx(["template", "init", "My App", "--json"], { cwd: root });
    expect(made.status).toBe(0);
    expect(JSON.parse(made.stdout)).toEqual({
      name: "my-app",
      files: [join(root, "My App/template.yaml"), join(root, "My App/Dockerfile")],
    });
    writeFileSync(join(root, "My App/Dockerfile"), "FROM mine\n");
    rmSync(join(root, "My App/template.yaml"));
    const again = await runAbx(["template", "init", "My App"], { cwd: root });
    expect(again).toMatchObject({ status: 1, stdout: "" });
    expect(again.stderr).toContain("Dockerfile exists already");
    expect(readFileSync(join(root, "My App/Dockerfile"), "utf8")).toBe("FROM mine\n");
    const refused = await runAbx(["template", "init", "other", "--name", "No Name"], { cwd: root });
    expect(refused.stderr).toContain('"No Name" is no name of a template');
    expect(refused.status).not.toBe(0);
  });
});

describeOnPlatform("abx template", (platform) => {
  const env = platformEnv(platform);
  const at = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  const name = `cli-${Date.now()}`;
  let root: string;
  const abx = (...args: string[]) => runAbx(["template", ...args], { env, cwd: root });
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "abx-template-"));
  });
  afterAll(async () => {
    rmSync(root, { recursive: true, force: true });
    await Template.delete(name, at);
  });

  it(
    "builds what init wrote, shows it and deletes it",
    async () => {
      expect((await abx("init", ".", "--name", name)).status).toBe(0);
      writeFileSync(join(root, "template.yaml"), `name: ${name}\ncpu_count: 1\nmemory_mb: 512\nenv:\n  COLOUR: blue\n`);
      writeFileSync(join(root, "Dockerfile"), "FROM e2bdev/base\nARG WHO=nobody\nRUN echo made for $WHO > /srv/made.txt\n");
      const built = await abx("build", "--build-arg", "WHO=me", "--tag", "v1", "--json");
      expect(built.stderr).toContain("the template is ready");
      expect(built.status).toBe(0);
      const { templateId, buildId } = JSON.parse(built.stdout) as { readonly templateId: string; readonly buildId: string };
      {
        await using sandbox = await Sandbox.create(`${name}:v1`, { ...at, timeoutMs: 60_000 });
        expect((await sandbox.commands.run("cat /srv/made.txt; echo $COLOUR")).stdout).toBe("made for me\nblue\n");
      }

      const listed = JSON.parse((await abx("list", "--json")).stdout) as readonly object[];
      expect(listed).toContainEqual(expect.objectContaining({ templateId, names: [name], cpuCount: 1, memoryMB: 512 }));
      expect((await abx("list")).stdout).toMatch(new RegExp(`^${name} +${templateId} +ready +1 +512 `, "m"));
      const info = JSON.parse((await abx("info", name, "--json")).stdout);
      expect(info).toMatchObject({ templateId, names: [name], builds: [{ buildId, status: "ready" }], tags: [{ tag: "v1", buildId }] });
      expect((await abx("info", templateId)).stdout).toContain(`${name}  ${templateId}  1 sandboxes made\n`);

      expect(await abx("delete", name, "no-such-template")).toMatchObject({
        status: 4,
        stdout: `${name}\n`,
        stderr: "abx: no template no-such-template\n",
      });
      expect((await abx("info", name)).stderr).toContain(name);
    },
    BUILD_MS,
  );

  it(
    "tells the line of a Dockerfile that it cannot build, and the step of one that fails",
    async () => {
      writeFileSync(join(root, "template.yaml"), `name: ${name}-broken\n`);
      writeFileSync(join(root, "Dockerfile"), "FROM e2bdev/base\nONBUILD RUN true\n");
      const refused = await abx("build");
      expect(refused.stderr).toMatch(/line 2.*ONBUILD|ONBUILD.*line 2/);
      expect(refused.status).not.toBe(0);
      writeFileSync(join(root, "Dockerfile"), "FROM e2bdev/base\nRUN echo why >&2; exit 7\n");
      const failed = await abx("build");
      expect(failed.stderr).toContain("why");
      expect(failed.stderr).toMatch(/exit status 7/);
      expect(failed).toMatchObject({ status: 1, stdout: "" });
      await Template.delete(`${name}-broken`, at);
    },
    BUILD_MS,
  );
});
