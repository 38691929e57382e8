import assert from "node:assert/strict";
import { until } from "../e2b-js/harness.mjs";

/** What a program does all day, by the means that every release since 2.15 has. */
export async function javascriptChecks(release) {
  const { Sandbox } = await import(`e2b-${release}`);
  const options = { timeoutMs: 300_000, metadata: { asked: "by an older client" }, envs: { WHO: "me" } };
  return {
    title: `e2b ${release} (npm)`,
    setUp: async () => ({ sandbox: await Sandbox.create(options) }),
    tearDown: ({ sandbox }) => sandbox.kill(),
    checks: {
      "commands give output and exit code": async ({ sandbox }) => {
        const { stdout, stderr, exitCode } = await sandbox.commands.run("echo $WHO; echo why >&2");
        assert.deepEqual([stdout, stderr, exitCode], ["me\n", "why\n", 0]);
        const error = await sandbox.commands.run("exit 4").catch((reason) => reason);
        assert.deepEqual([error.name, error.exitCode], ["CommandExitError", 4]);
      },
      "background commands take input": async ({ sandbox }) => {
        const handle = await sandbox.commands.run("cat", { background: true, stdin: true });
        await sandbox.commands.sendStdin(handle.pid, "héllo\n");
        await until(() => handle.stdout === "héllo\n", "the echo");
        assert.ok((await sandbox.commands.list()).some(({ pid }) => pid === handle.pid));
        assert.equal(await handle.kill(), true);
      },
      "files are written, read, listed, renamed, removed": async ({ sandbox }) => {
        await sandbox.files.write("/tmp/here/a.txt", "héllo");
        assert.equal(await sandbox.files.read("/tmp/here/a.txt"), "héllo");
        assert.deepEqual(
          (await sandbox.files.list("/tmp/here")).map(({ name, type }) => [name, type]),
          [["a.txt", "file"]],
        );
        await sandbox.files.rename("/tmp/here/a.txt", "/tmp/here/b.txt");
        assert.deepEqual(await Promise.all(["a", "b"].map((name) => sandbox.files.exists(`/tmp/here/${name}.txt`))), [false, true]);
        await sandbox.files.remove("/tmp/here");
      },
      "a watch tells of a new file": async ({ sandbox }) => {
        await sandbox.files.makeDir("/tmp/watched");
        const events = [];
        const watch = await sandbox.files.watchDir("/tmp/watched", (event) => void events.push(event));
        await sandbox.files.write("/tmp/watched/new", "");
        await until(() => events.some(({ name }) => name === "new"), "an event");
        await watch.stop();
      },
      "a terminal answers": async ({ sandbox }) => {
        let text = "";
        const onData = (data) => {
          text += new TextDecoder().decode(data);
        };
        const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData });
        await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("echo $((6 * 7))\n"));
        await until(() => /^42\r?$/m.test(text), "the answer");
        await sandbox.pty.kill(terminal.pid);
      },
      "it is listed with its metadata, and found by its id": async ({ sandbox }) => {
        assert.equal((await sandbox.getInfo()).metadata.asked, options.metadata.asked);
        const listed = await Sandbox.list({ query: { metadata: options.metadata } }).nextItems();
        assert.ok(listed.some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
        const found = await Sandbox.connect(sandbox.sandboxId);
        assert.equal((await found.commands.run("echo found")).stdout, "found\n");
        await sandbox.setTimeout(200_000);
        assert.equal(await sandbox.isRunning(), true);
      },
      "it goes on after a pause": async ({ sandbox }) => {
        await sandbox.files.write("/tmp/kept", "kept");
        await (sandbox.betaPause ?? sandbox.pause).call(sandbox);
        const again = await Sandbox.connect(sandbox.sandboxId);
        assert.equal(await again.files.read("/tmp/kept"), "kept");
      },
    },
  };
}
