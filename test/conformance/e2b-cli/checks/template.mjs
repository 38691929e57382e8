import assert from "node:assert/strict";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { e2b, e2bOk } from "../program.mjs";

const list = async () => JSON.parse(await e2bOk(["template", "list", "--format", "json"]));

export const template = {
  title: "template",
  setUp: async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "abx-e2b-template-"));
    await mkdir(path.join(directory, "data"));
    await writeFile(path.join(directory, "data", "greeting.txt"), "hello from a file\n");
    await writeFile(
      path.join(directory, "e2b.Dockerfile"),
      "FROM debian:bookworm\nENV GREETING=hi\nCOPY data /opt/data\nRUN echo built > /opt/built\nWORKDIR /opt\n",
    );
    return { directory, name: `cli-template-${process.pid}` };
  },
  tearDown: async ({ name }) => {
    await e2b(["template", "delete", name, "-y"]);
  },
  checks: {
    "create builds a Dockerfile": async ({ directory, name }) => {
      const { stdout, stderr, exitCode } = await e2b(["template", "create", name, "-p", directory, "--memory-mb", "512"], {
        cwd: directory,
      });
      assert.equal(exitCode, 0, stdout + stderr);
      const entry = (await list()).find((one) => one.aliases?.includes(name) || one.names?.some((each) => each.endsWith(name)));
      assert.ok(entry, JSON.stringify(await list()));
      assert.equal(entry.memoryMB, 512);
    },
    "sandboxes start from it": async ({ name }) => {
      const id = (await e2bOk(["sandbox", "create", name, "-d"])).trim();
      assert.equal(
        await e2bOk(["sandbox", "exec", id, "sh", "-c", "cat /opt/data/greeting.txt /opt/built; echo $GREETING"]),
        "hello from a file\nbuilt\nhi\n",
      );
      await e2bOk(["sandbox", "kill", id]);
    },
    "a failing step ends the build with its reason": async ({ directory, name }) => {
      const broken = path.join(directory, "broken.Dockerfile");
      await writeFile(broken, "FROM debian:bookworm\nRUN echo because-of-this >&2; exit 9\n");
      const { exitCode, stdout, stderr } = await e2b(["template", "create", `${name}-broken`, "-p", directory, "-d", "broken.Dockerfile"]);
      assert.notEqual(exitCode, 0);
      assert.match(stdout + stderr, /because-of-this/);
    },
    "publish and unpublish": async ({ name }) => {
      await e2bOk(["template", "publish", name, "-y"]);
      await e2bOk(["template", "unpublish", name, "-y"]);
    },
    "delete removes it": async ({ name }) => {
      await e2bOk(["template", "delete", name, "-y"]);
      assert.equal((await e2b(["sandbox", "create", name, "-d"])).exitCode, 1);
    },
  },
};
