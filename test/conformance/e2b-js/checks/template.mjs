import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Sandbox, Template, waitForFile, waitForPort } from "e2b";
import { rejectsWith } from "../harness.mjs";

const outputOf = async (template, command) => {
  const sandbox = await Sandbox.create(template);
  try {
    return (await sandbox.commands.run(command)).stdout;
  } finally {
    await sandbox.kill();
  }
};
const remove = (template) =>
  fetch(new URL(`/templates/${encodeURIComponent(template)}`, process.env.E2B_API_URL), {
    method: "DELETE",
    headers: { "X-API-KEY": process.env.E2B_API_KEY },
  });

export const template = {
  title: "template",
  setUp: async () => {
    const context = await mkdtemp(path.join(tmpdir(), "conformance-"));
    await mkdir(path.join(context, "app"));
    await writeFile(path.join(context, "app/a.txt"), "A");
    await writeFile(path.join(context, ".dockerignore"), "*.log\n");
    const name = `conformance-${randomUUID().slice(0, 8)}`;
    const lines = [];
    const definition = Template({ fileContextPath: context })
      .fromTemplate("base")
      .setEnvs({ KIND: "conformance", NAME: name })
      .setWorkdir("/srv/app")
      .copy("app", "files/")
      .makeDir("made")
      .makeSymlink("../files/a.txt", "made/link")
      .runCmd('echo "$KIND $(id -un)" > who');
    const build = await Template.build(definition, `${name}:v1`, { cpuCount: 1, memoryMB: 512, onBuildLogs: (line) => lines.push(line) });
    return { context, name, lines, definition, build };
  },
  tearDown: async ({ context, name }) => {
    await rm(context, { recursive: true, force: true });
    await remove(name);
  },
  checks: {
    "build gives ids and its log": async ({ build, lines, name }) => {
      assert.match(build.templateId, /^[a-z0-9]{20}$/);
      assert.match(build.buildId, /^[0-9a-f-]{36}$/);
      assert.equal(build.name, `${name}:v1`);
      assert.ok(lines.some(({ message }) => message.includes("RUN echo")));
      assert.ok(lines.some(({ message }) => message.startsWith("Template created with ID")));
    },
    "a sandbox has what the steps made": async ({ name }) => {
      const output = await outputOf(`${name}:v1`, "pwd; cat who; cat made/link; echo; echo $KIND");
      assert.equal(output, "/srv/app\nconformance user\nA\nconformance\n");
    },
    "an unchanged template comes from the cache": async ({ name, definition }) => {
      const lines = [];
      await Template.build(definition, `${name}:v2`, { onBuildLogs: ({ message }) => lines.push(message) });
      assert.equal(lines.filter((line) => line.startsWith("CACHED")).length, 5);
    },
    "buildInBackground and getBuildStatus": async ({ name, definition }) => {
      const build = await Template.buildInBackground(definition, `${name}:v3`);
      for (;;) {
        const status = await Template.getBuildStatus(build, { logsOffset: 0 });
        assert.equal(status.buildID ?? status.buildId, build.buildId);
        if (status.status === "ready") break;
        assert.notEqual(status.status, "error");
      }
    },
    "a start command runs in every sandbox, from its first moment": async ({ name }) => {
      const served = Template().fromTemplate("base").setStartCmd("python3 -m http.server 8123", waitForPort(8123));
      await Template.build(served, `${name}:served`);
      assert.match(await outputOf(`${name}:served`, "curl -s http://localhost:8123/"), /Directory listing/);
    },
    "a Dockerfile": async ({ name, context }) => {
      const made = Template({ fileContextPath: context }).fromDockerfile(
        'FROM e2bdev/base\nENV A=1\nWORKDIR /d\nCOPY app ./\nRUN echo "$A" > b\nUSER user\nCMD touch /tmp/started && sleep 600\n',
      );
      await Template.build(made, `${name}:docker`);
      assert.equal(await outputOf(`${name}:docker`, "cat /d/a.txt /d/b; whoami"), "A1\nuser\n");
    },
    "steps that move and remove files, anew where asked": async ({ name, context }) => {
      const steps = Template({ fileContextPath: context })
        .fromBaseImage()
        .setUser("user")
        .setWorkdir("/srv/steps")
        .copyItems([
          { src: "app/a.txt", dest: "one" },
          { src: "app/a.txt", dest: "two" },
        ])
        .skipCache()
        .rename("one", "moved")
        .remove("two")
        .setReadyCmd("test -e /srv/steps/moved");
      await Template.build(steps, `${name}:steps`);
      assert.equal(await outputOf(`${name}:steps`, "ls /srv/steps"), "moved\n");
    },
    "a failing step is a BuildError": async ({ name }) => {
      const broken = Template().fromTemplate("base").runCmd("exit 7");
      await rejectsWith(Template.build(broken, `${name}-broken`), "BuildError", /7/);
      await remove(`${name}-broken`);
    },
    "a ready command that waits for a file": async ({ name }) => {
      const ready = Template().fromTemplate("base").setStartCmd("sleep 1; touch /tmp/ready; sleep 600", waitForFile("/tmp/ready"));
      await Template.build(ready, `${name}:ready`);
      assert.equal(await outputOf(`${name}:ready`, "ls /tmp/ready"), "/tmp/ready\n");
    },
    exists: async ({ name }) => {
      assert.equal(await Template.exists(name), true);
      assert.equal(await Template.exists(`${name}-not`), false);
      assert.equal(await Template.aliasExists(name), true);
    },
    "assignTags, getTags and removeTags": async ({ name, build }) => {
      assert.equal((await Template.assignTags(`${name}:v1`, ["stable", "latest"])).buildId, build.buildId);
      await Template.removeTags(name, "latest");
      const tags = (await Template.getTags(build.templateId)).filter((tag) => tag.buildId === build.buildId).map(({ tag }) => tag);
      assert.deepEqual(tags.sort(), ["stable", "v1"]);
      await rejectsWith(Template.removeTags(name, "default"), "TemplateError");
      await rejectsWith(Template.assignTags(`${name}:v1`, ":bad"), "TemplateError");
    },
    "toJSON and toDockerfile": async ({ definition, context }) => {
      assert.equal(JSON.parse(await Template.toJSON(definition)).fromTemplate, "base");
      const image = Template({ fileContextPath: context }).fromDebianImage("12").runCmd("true");
      assert.match(Template.toDockerfile(image), /^FROM debian:12/);
    },
  },
};
