import assert from "node:assert/strict";
import { Sandbox } from "e2b";
import { rejectsWith, until } from "../harness.mjs";

export const commands = {
  title: "commands",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 600_000 });
    return { sandbox, commands: sandbox.commands };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "run gives output and exit code": async ({ commands }) => {
      const result = await commands.run("echo out; echo err >&2");
      assert.deepEqual([result.exitCode, result.stdout, result.stderr, result.error], [0, "out\n", "err\n", undefined]);
    },
    "run keeps characters whole": async ({ commands }) => {
      assert.equal((await commands.run("printf '\\xf0\\x9f'; sleep 0.1; printf '\\x8e\\x89é'")).stdout, "🎉é");
      assert.equal((await commands.run(`echo 'quotes " and \\ $HOME'`)).stdout, 'quotes " and \\ $HOME\n');
    },
    "run streams output while it runs": async ({ commands }) => {
      const seen = [];
      const result = await commands.run("for i in 1 2 3; do echo $i; sleep 0.1; done; echo e >&2", {
        onStdout: (text) => void seen.push(text),
        onStderr: (text) => void seen.push(`!${text}`),
      });
      assert.equal(result.stdout, "1\n2\n3\n");
      assert.ok(seen.length >= 4, JSON.stringify(seen));
      assert.ok(seen.includes("!e\n"));
    },
    "a large output arrives whole": async ({ commands }) => {
      const result = await commands.run("head -c 4194304 /dev/zero | tr '\\0' x; echo; seq 1 1000 >&2");
      assert.equal(result.stdout.length, 4_194_305);
      assert.equal(result.stderr.split("\n").length, 1_001);
    },
    "a failure rejects with the result": async ({ commands }) => {
      const error = await rejectsWith(commands.run("echo before; echo why >&2; exit 7"), "CommandExitError");
      assert.deepEqual([error.exitCode, error.stdout, error.stderr], [7, "before\n", "why\n"]);
      assert.match(error.error, /exit status 7/);
      assert.equal((await rejectsWith(commands.run("no-such-command-here"), "CommandExitError")).exitCode, 127);
    },
    "a background command gives a handle": async ({ commands }) => {
      const handle = await commands.run("sleep 0.2; echo done", { background: true });
      assert.ok(handle.pid > 1);
      assert.equal(handle.exitCode, undefined);
      const result = await handle.wait();
      assert.deepEqual([result.exitCode, result.stdout, handle.exitCode, handle.stdout], [0, "done\n", 0, "done\n"]);
    },
    "a background failure rejects in wait": async ({ commands }) => {
      const handle = await commands.run("exit 3", { background: true });
      assert.equal((await rejectsWith(handle.wait(), "CommandExitError")).exitCode, 3);
    },
    "kill ends the process": async ({ commands }) => {
      const handle = await commands.run("sleep 600", { background: true });
      assert.equal(await handle.kill(), true);
      const error = await rejectsWith(handle.wait(), "CommandExitError");
      assert.equal(error.exitCode, -1);
      assert.match(error.error, /signal: killed/);
      await rejectsWith(commands.run(`kill -0 ${handle.pid}`), "CommandExitError");
      assert.equal(await commands.kill(handle.pid), false);
    },
    "kill of an unknown pid says false": async ({ commands }) => assert.equal(await commands.kill(999_999), false),
    "list shows what runs": async ({ commands }) => {
      const handle = await commands.run("sleep 601", { background: true, envs: { LISTED: "yes" }, cwd: "/tmp" });
      const found = (await commands.list()).find(({ pid }) => pid === handle.pid);
      assert.deepEqual([found?.cmd, found?.args.at(-1), found?.envs.LISTED, found?.cwd], ["/bin/bash", "sleep 601", "yes", "/tmp"]);
      await handle.kill();
      await until(async () => !(await commands.list()).some(({ pid }) => pid === handle.pid), "the end in the list");
    },
    "connect follows a running command": async ({ commands }) => {
      const first = await commands.run('read line; echo "got $line"', { background: true, stdin: true });
      const seen = [];
      const second = await commands.connect(first.pid, { onStdout: (text) => void seen.push(text) });
      assert.equal(second.pid, first.pid);
      await commands.sendStdin(first.pid, "both\n");
      assert.equal((await second.wait()).stdout, "got both\n");
      assert.equal((await first.wait()).stdout, "got both\n");
      assert.deepEqual(seen.join(""), "got both\n");
    },
    "connect after the end gives the exit": async ({ commands }) => {
      const handle = await commands.run("exit 5", { background: true });
      await rejectsWith(handle.wait(), "CommandExitError");
      const late = await commands.connect(handle.pid);
      assert.equal((await rejectsWith(late.wait(), "CommandExitError")).exitCode, 5);
    },
    "disconnect leaves the process alive": async ({ commands }) => {
      const handle = await commands.run("sleep 602", { background: true });
      await handle.disconnect();
      assert.ok((await commands.list()).some(({ pid }) => pid === handle.pid));
      assert.equal(await commands.kill(handle.pid), true);
    },
    "sendStdin as text and bytes, closeStdin ends the input": async ({ commands }) => {
      assert.equal(commands.supportsStdinClose, true);
      const handle = await commands.run("cat", { background: true, stdin: true });
      await commands.sendStdin(handle.pid, "text ");
      await commands.sendStdin(handle.pid, new TextEncoder().encode("bytes é"));
      await commands.closeStdin(handle.pid);
      assert.equal((await handle.wait()).stdout, "text bytes é");
    },
    "stdin through the handle": async ({ commands }) => {
      const handle = await commands.run("wc -c", { background: true, stdin: true });
      await handle.sendStdin("x".repeat(100_000));
      await handle.closeStdin();
      assert.equal((await handle.wait()).stdout.trim(), "100000");
    },
    "stdin is /dev/null unless asked for": async ({ commands }) => assert.equal((await commands.run("cat; echo ended")).stdout, "ended\n"),
    "envs win over those of the sandbox": async ({ commands }) => {
      assert.equal(
        (await commands.run('printf "%s|%s|%s" "$A" "$USER" "$HOME"', { envs: { A: "a'b\"c" } })).stdout,
        "a'b\"c|user|/home/user",
      );
    },
    cwd: async ({ commands }) => {
      assert.equal((await commands.run("pwd")).stdout, "/home/user\n");
      assert.equal((await commands.run("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
      await commands.run("mkdir -p sub");
      assert.equal((await commands.run("pwd", { cwd: "sub" })).stdout, "/home/user/sub\n");
    },
    user: async ({ commands }) => {
      assert.equal((await commands.run("id -un")).stdout, "user\n");
      assert.equal((await commands.run("id -un; echo $HOME", { user: "root" })).stdout, "root\n/root\n");
      assert.equal((await commands.run("sudo id -un")).stdout, "root\n");
    },
    "the timeout kills the command": async ({ commands }) => {
      const mark = "603.25";
      await rejectsWith(commands.run(`exec sleep ${mark}`, { timeoutMs: 1_000 }), "TimeoutError");
      await until(async () => !(await commands.list()).some(({ args }) => args.at(-1)?.includes(mark)), "the end of the command");
    },
    "timeout 0 means none": async ({ commands }) =>
      assert.equal((await commands.run("sleep 1.5; echo late", { timeoutMs: 0 })).stdout, "late\n"),
    "an abort signal ends the call": async ({ commands }) => {
      const abort = new AbortController();
      const work = commands.run("sleep 604", { signal: abort.signal });
      setTimeout(() => abort.abort(), 200);
      await assert.rejects(work);
    },
    "many commands at once": async ({ commands }) => {
      const results = await Promise.all(Array.from({ length: 30 }, (_, i) => commands.run(`sleep 0.1; echo ${i}`)));
      assert.deepEqual(
        results.map(({ stdout }) => stdout.trim()),
        Array.from({ length: 30 }, (_, i) => String(i)),
      );
    },
    "a missing cwd": async ({ commands }) => {
      await rejectsWith(commands.run("true", { cwd: "/no/such/dir" }), "InvalidArgumentError", /cwd '\/no\/such\/dir' does not exist/);
    },
    "an unknown user": ({ commands }) => rejectsWith(commands.run("true", { user: "nobody-here" }), "AuthenticationError"),
    "an unknown pid": async ({ commands }) => {
      await rejectsWith(commands.connect(999_999), "NotFoundError");
      await rejectsWith(commands.sendStdin(999_999, "x"), "NotFoundError");
      await rejectsWith(commands.closeStdin(999_999), "NotFoundError");
    },
    "stdin of a command that has none": async ({ commands }) => {
      const handle = await commands.run("sleep 605", { background: true });
      await rejectsWith(commands.sendStdin(handle.pid, "x"), "SandboxError", /internal/);
      await handle.kill();
    },
  },
};
