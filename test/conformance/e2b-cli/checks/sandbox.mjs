import assert from "node:assert/strict";
import { until } from "../../e2b-js/harness.mjs";
import { e2b, e2bOk, startE2b, startE2bInTerminal } from "../program.mjs";

const list = async (...args) => JSON.parse(await e2bOk(["sandbox", "list", "--format", "json", ...args]));
const create = async (...args) => (await e2bOk(["sandbox", "create", "base", "-d", ...args])).trim();

export const sandbox = {
  title: "sandbox",
  setUp: async () => ({ id: await create("--timeout", "600") }),
  tearDown: ({ id }) => e2bOk(["sandbox", "kill", id]),
  checks: {
    "create -d prints the id alone, and list has it": async ({ id }) => {
      assert.match(id, /^[a-z0-9]+$/);
      const [entry] = (await list("--template", "base")).filter((one) => one.sandboxId === id);
      assert.deepEqual([entry.name, entry.state, entry.cpuCount, entry.memoryMB], ["base", "running", 2, 1024]);
    },
    "create takes what happens at the end of its life": async () => {
      const id = await create("--lifecycle.ontimeout", "pause", "--lifecycle.autoresume", "--timeout", "60");
      const info = JSON.parse(await e2bOk(["sandbox", "info", id, "-f", "json"]));
      assert.deepEqual(info.lifecycle, { onTimeout: "pause", autoResume: true });
      await e2bOk(["sandbox", "kill", id]);
    },
    "create of an unknown template names it": async () => {
      const { exitCode, stderr, stdout } = await e2b(["sandbox", "create", "no-such-template", "-d"]);
      assert.equal(exitCode, 1);
      assert.match(stderr + stdout, /no-such-template/);
    },
    "exec passes output, exit code and standard input on": async ({ id }) => {
      assert.equal(await e2bOk(["sandbox", "exec", id, "--", "echo", "héllo $HOME"]), "héllo $HOME\n");
      assert.equal(await e2bOk(["sandbox", "exec", id, "wc", "-c"], { input: "x".repeat(200_000) }), "200000\n");
      const failed = await e2b(["sandbox", "exec", id, "--", "sh", "-c", "echo why >&2; exit 3"]);
      assert.equal(failed.exitCode, 3);
      assert.match(failed.stderr, /^why\n/);
    },
    "exec takes user, directory and environment": async ({ id }) => {
      const command = 'echo "$(id -un) $PWD $WHO"';
      assert.equal(
        await e2bOk(["sandbox", "exec", "-u", "root", "-c", "/tmp", "-e", "WHO=a b", id, "sh", "-c", command]),
        "root /tmp a b\n",
      );
    },
    "exec -b leaves the process running": async ({ id }) => {
      const { exitCode, stderr } = await e2b(["sandbox", "exec", "-b", id, "sleep", "600"]);
      assert.equal(exitCode, 0);
      const [pid] = /\d+/.exec(stderr) ?? assert.fail(`no pid in ${stderr}`);
      await e2bOk(["sandbox", "exec", "-u", "root", id, "kill", pid]);
    },
    "a signal to exec kills the remote command": async ({ id }) => {
      const run = startE2b(["sandbox", "exec", id, "sh", "-c", "echo started; exec sleep 600"]);
      await until(() => run.text().includes("started"), "the command's output");
      run.child.kill("SIGINT");
      await run.ended;
      await until(async () => (await e2b(["sandbox", "exec", id, "pgrep", "-x", "sleep"])).exitCode === 1, "the end of the remote command");
    },
    "connect gives a terminal, and its end leaves the sandbox": async ({ id }) => {
      const terminal = startE2bInTerminal(["sandbox", "connect", "-c", "/tmp", "-e", "WHO=me", id]);
      await until(
        () => /[$#] $/.test(terminal.text()),
        () => `a prompt in ${JSON.stringify(terminal.text())}`,
      );
      terminal.write("echo $((6 * 7)) $PWD $WHO $(tput cols)\r");
      await until(
        () => /42 \/tmp me 100/.test(terminal.text()),
        () => `the answer in ${JSON.stringify(terminal.text())}`,
      );
      terminal.write("exit\r");
      await terminal.ended;
      assert.ok((await list()).some((one) => one.sandboxId === id));
    },
    "create in a terminal ends the sandbox with it": async () => {
      const terminal = startE2bInTerminal(["sandbox", "create", "base"]);
      await until(
        () => /[$#] $/.test(terminal.text()),
        () => `a prompt in ${JSON.stringify(terminal.text())}`,
      );
      terminal.write("hostname\rexit\r");
      await terminal.ended;
      const [id] = /\bi[a-z0-9]{20}\b/.exec(terminal.text()) ?? assert.fail(`no id in ${terminal.text()}`);
      await until(async () => !(await list()).some((one) => one.sandboxId === id), "the end of the sandbox");
    },
    "pause, list by state, resume": async ({ id }) => {
      await e2bOk(["sandbox", "exec", id, "sh", "-c", "echo kept > /tmp/kept"]);
      await e2bOk(["sandbox", "pause", id]);
      assert.ok((await list("--state", "paused")).some((one) => one.sandboxId === id));
      assert.ok(!(await list("--state", "running")).some((one) => one.sandboxId === id));
      await e2bOk(["sandbox", "resume", id]);
      assert.equal(await e2bOk(["sandbox", "exec", id, "cat", "/tmp/kept"]), "kept\n");
    },
    "list orders and limits": async ({ id }) => {
      const later = await create("--timeout", "600");
      assert.deepEqual(
        (await list("-o", "desc", "-l", "1")).map((one) => one.sandboxId),
        [later],
      );
      const ascending = (await list("-o", "asc", "-l", "0")).map((one) => one.sandboxId);
      assert.ok(ascending.indexOf(id) < ascending.indexOf(later));
      assert.deepEqual(await list("--started-after", "2100-01-01T00:00:00Z"), []);
      assert.deepEqual(await list("-m", "no=body"), []);
      await e2bOk(["sandbox", "kill", later]);
    },
    "logs tell the life of the sandbox, also while it goes on": async ({ id }) => {
      assert.match(await e2bOk(["sandbox", "logs", id, "--format", "json"]), /created/);
      const other = await create();
      const follower = startE2b(["sandbox", "logs", "-f", other]);
      await until(
        () => /created/.test(follower.text()),
        () => `the first line in ${JSON.stringify(follower.text())}`,
      );
      await e2bOk(["sandbox", "kill", other]);
      assert.equal(await follower.ended, 0, follower.text());
      assert.match(await e2bOk(["sandbox", "logs", other]), /killed/);
    },
    "metrics measure processor, memory and disk": async ({ id }) => {
      const metrics = await until(
        async () => {
          const text = await e2bOk(["sandbox", "metrics", id, "--format", "json"]);
          return text.includes("cpu") ? text : undefined;
        },
        "a measurement",
        30_000,
      );
      for (const name of ["cpuCount", "cpuUsedPct", "memUsed", "memTotal", "diskUsed", "diskTotal"])
        assert.ok(metrics.includes(name), metrics);
    },
    "snapshot create, list, start from it, delete": async ({ id }) => {
      await e2bOk(["sandbox", "exec", id, "sh", "-c", "echo v1 > /home/user/version"]);
      await e2bOk(["sandbox", "snapshot", "create", id, "-n", "cli-snapshot"]);
      const snapshots = JSON.parse(await e2bOk(["sandbox", "snapshot", "list", id, "-f", "json"]));
      assert.equal(snapshots.length, 1, JSON.stringify(snapshots));
      const { snapshotId } = snapshots[0];
      const copy = (await e2bOk(["sandbox", "create", snapshotId, "-d"])).trim();
      assert.equal(await e2bOk(["sandbox", "exec", copy, "cat", "/home/user/version"]), "v1\n");
      await e2bOk(["sandbox", "kill", copy]);
      await e2bOk(["sandbox", "snapshot", "delete", snapshotId]);
      assert.deepEqual(JSON.parse(await e2bOk(["sandbox", "snapshot", "list", id, "-f", "json"])), []);
    },
    "kill of several, and of one that is gone": async () => {
      const [one, two] = await Promise.all([create(), create()]);
      await e2bOk(["sandbox", "kill", one, two]);
      const left = (await list()).map((entry) => entry.sandboxId);
      assert.ok(!left.includes(one) && !left.includes(two));
      const again = await e2b(["sandbox", "kill", one]);
      assert.match(again.stdout + again.stderr, /wasn't found|not found/i);
    },
    "a wrong key is said as such": async ({ id }) => {
      const key = process.env.E2B_API_KEY;
      const { exitCode, stdout, stderr } = await e2b(["sandbox", "list"], { env: { E2B_API_KEY: `${key.slice(0, -4)}0000` } });
      assert.notEqual(exitCode, 0, id);
      assert.match(stdout + stderr, /key|authenticat|unauthorized|401/i);
    },
  },
};
