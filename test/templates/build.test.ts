import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Sandbox, Template, type TemplateBuildOptions, waitForFile } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

const BUILD_MS = 120_000;
/** Fresh in each run, so that the first build of a step is never found in the cache. */
const NONCE = `${Date.now()}`;
const NAME = `test-${NONCE}`;

describeOnPlatform("building templates", (platform) => {
  const at = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  let context: string;

  const buildIt = async (template: Parameters<typeof Template.build>[0], name: string, options: TemplateBuildOptions = {}) => {
    const lines: string[] = [];
    const build = await Template.build(template, name, { ...at, ...options, onBuildLogs: ({ message }) => lines.push(message) });
    return { build, lines };
  };
  const runIn = async (template: string, command: string) => {
    await using sandbox = await Sandbox.create(template, { ...at, timeoutMs: 60_000 });
    return (await sandbox.commands.run(command)).stdout;
  };
  const base = () => Template({ fileContextPath: context }).fromTemplate("base").setEnvs({ NONCE });

  beforeAll(() => {
    context = mkdtempSync(join(tmpdir(), "abx-build-"));
    mkdirSync(join(context, "app/sub"), { recursive: true });
    writeFileSync(join(context, "app/a.txt"), "A");
    writeFileSync(join(context, "app/sub/b.txt"), "B");
    writeFileSync(join(context, "run.sh"), "#!/bin/sh\ntouch /tmp/up\nexec sleep 1000\n");
  });
  afterAll(async () => {
    rmSync(context, { recursive: true, force: true });
    for (const { names, templateId } of await Template.list(at))
      if (names.some((name) => name.startsWith(NAME))) await Template.delete(templateId, at);
  });

  it(
    "begins with a snapshot, which may be deleted afterwards",
    async () => {
      await using source = await Sandbox.create("base", { ...at, timeoutMs: 60_000 });
      await source.files.write("kept.txt", "of the snapshot");
      const { snapshotId } = await source.createSnapshot();
      const template = Template().fromTemplate(snapshotId).runCmd("cat kept.txt > copied.txt; rm kept.txt");
      await buildIt(template, `${NAME}-of-snapshot`);
      expect(await Sandbox.deleteSnapshot(snapshotId, at)).toBe(true);
      expect(await runIn(`${NAME}-of-snapshot`, "ls; cat copied.txt")).toBe("copied.txt\nof the snapshot");
      const again = buildIt(template, `${NAME}-of-none`);
      await expect(again).rejects.toThrow("not found");
    },
    BUILD_MS,
  );

  const whole = () =>
    base()
      .setWorkdir("/srv/w")
      .copy("app", "app/")
      .copy("app/*.txt", "/opt/flat/", { user: "root", mode: 0o600 })
      .copy("run.sh", "/opt/run.sh", { user: "root", mode: 0o755 })
      .runCmd('echo "$NONCE $(id -un) $(pwd)" > made')
      .runCmd("echo secret > /root/only-root", { user: "root" })
      .setStartCmd("/opt/run.sh", waitForFile("/tmp/up"));

  it(
    "keeps files, owners, variables, directory and programs of every step, and takes unchanged steps from the cache",
    async () => {
      const first = await buildIt(whole(), NAME, { tags: ["v1"] });
      expect(first.build).toMatchObject({ name: NAME, tags: ["v1"] });
      expect(first.lines.filter((line) => line.startsWith("CACHED"))).toEqual([]);
      const text = await runIn(
        `${NAME}:v1`,
        "pwd; whoami; cat made; cat app/sub/b.txt; stat -c '%n %U %a' app/a.txt; ls /tmp/up; sudo stat -c '%n %a' /opt/flat/* /root/only-root",
      );
      expect(text.split("\n")).toEqual([
        "/srv/w",
        "user",
        `${NONCE} user /srv/w`,
        "Bapp/a.txt user 644",
        "/tmp/up",
        "/opt/flat/a.txt 600",
        "/root/only-root 644",
        "",
      ]);
      const second = await buildIt(whole(), `${NAME}:v2`);
      expect(second.lines.filter((line) => line.startsWith("CACHED"))).toHaveLength(6);
      expect(second.build.templateId).toBe(first.build.templateId);
      const forced = await buildIt(whole(), `${NAME}:v3`, { skipCache: true });
      expect(forced.lines.filter((line) => line.startsWith("CACHED"))).toEqual([]);
    },
    BUILD_MS,
  );

  it(
    "names the step that failed, with its output and the caller's line, and leaves no sandbox",
    async () => {
      const template = base().runCmd("true").runCmd("echo oops >&2; exit 3");
      const failure = await Template.build(template, `${NAME}-bad`, at).catch((error: Error) => error);
      expect(failure).toMatchObject({ name: "BuildError", step: "3", message: expect.stringContaining("exit status 3: oops") as string });
      expect((failure as Error).stack).toContain("build.test.ts");
      const info = await Template.getInfo(`${NAME}-bad`, at);
      expect(info.builds.map(({ status }) => status)).toEqual(["error"]);
      await expect(Sandbox.create(`${NAME}-bad`, at)).rejects.toMatchObject({ name: "TemplateError" });
    },
    BUILD_MS,
  );

  it.each([
    ["an unknown user", () => base().setUser("nobody-here"), "2", "nobody-here"],
    ["a template that is none", () => Template().fromTemplate("no-such-template"), "base", "no-such-template"],
    ["a start command that fails", () => base().setStartCmd("echo broken; exit 4", waitForFile("/never")), "finalize", "broken"],
  ])(
    "says what is wrong with %s",
    async (_title, template, step, text) => {
      await expect(Template.build(template(), `${NAME}-wrong`, at)).rejects.toMatchObject({
        name: "BuildError",
        step,
        message: expect.stringContaining(text) as string,
      });
    },
    BUILD_MS,
  );

  it(
    "builds on another template of ours, inherits its start, and outlives that template",
    async () => {
      await buildIt(base().setEnvs({ FROM_PARENT: "1" }).runCmd("echo parent > ~/parent"), `${NAME}-parent`);
      await buildIt(Template().fromTemplate(`${NAME}-parent`).runCmd("echo child > ~/child; rm ~/parent"), `${NAME}-child`);
      expect(await Template.delete(`${NAME}-parent`, at)).toBe(true);
      expect(await runIn(`${NAME}-child`, "echo $FROM_PARENT; ls ~")).toBe("1\nchild\n");
    },
    BUILD_MS,
  );

  it(
    "moves and removes tags, and refuses malformed ones",
    async () => {
      const { build } = await buildIt(base(), `${NAME}-tags:one`);
      expect(await Template.assignTags(`${NAME}-tags:one`, ["two", "three"], at)).toEqual({
        tags: ["two", "three"],
        buildId: build.buildId,
      });
      await Template.removeTags(`${NAME}-tags`, "two", at);
      expect((await Template.getTags(build.templateId, at)).map(({ tag }) => tag)).toEqual(["one", "three"]);
      await expect(Template.assignTags(`${NAME}-tags:one`, ":x", at)).rejects.toMatchObject({ name: "InvalidArgumentError" });
      await expect(Template.removeTags(`${NAME}-tags`, "default", at)).rejects.toMatchObject({ name: "InvalidArgumentError" });
      await expect(Template.removeTags(`${NAME}-tags`, "gone", at)).rejects.toMatchObject({ name: "TemplateError" });
      expect(await Template.exists(`${NAME}-tags`, at)).toBe(true);
      expect(await Template.delete(`${NAME}-tags`, at)).toBe(true);
      expect(await Template.exists(`${NAME}-tags`, at)).toBe(false);
      expect(await Template.delete(`${NAME}-tags`, at)).toBe(false);
    },
    BUILD_MS,
  );

  it(
    "stops a build whose template is deleted, in the middle of a step",
    async () => {
      const build = await Template.buildInBackground(base().runCmd("echo begun; sleep 1000"), `${NAME}-long`, at);
      const isBegun = async () => (await Template.getBuildStatus(build, at)).logEntries.some(({ message }) => message === "begun");
      while (!(await isBegun())) await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await Template.delete(`${NAME}-long`, at)).toBe(true);
      await expect(Template.getBuildStatus(build, at)).rejects.toMatchObject({ name: "TemplateError" });
    },
    BUILD_MS,
  );

  it("keeps the names of the platform's own templates", async () => {
    await expect(Template.build(base(), "base", at)).rejects.toMatchObject({ name: "InvalidArgumentError" });
    await expect(Template.delete("base", at)).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });
});
