import assert from "node:assert/strict";
import { Sandbox } from "e2b";
import { rejectsWith, textOf, until } from "../harness.mjs";

const bytes = (text) => new TextEncoder().encode(text);

/** A terminal whose output is collected. */
async function openPty(pty, options = {}) {
  const screen = { text: "" };
  const handle = await pty.create({
    cols: 80,
    rows: 24,
    timeoutMs: 0,
    ...options,
    onData: (data) => {
      screen.text += textOf(data);
    },
  });
  return {
    handle,
    screen,
    shows: (pattern) =>
      until(
        () => pattern.test(screen.text),
        () => `${pattern} on the screen ${JSON.stringify(screen.text)}`,
      ),
  };
}

export const pty = {
  title: "pty",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
    return { sandbox, pty: sandbox.pty };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "create runs a shell on a terminal of the asked size": async ({ pty }) => {
      const { handle, shows } = await openPty(pty, { cols: 101, rows: 33, envs: { PTY_ENV: "here" }, cwd: "/tmp" });
      await pty.sendInput(handle.pid, bytes('stty size; tty; echo "$PTY_ENV $TERM $PWD"\n'));
      await shows(/33 101/);
      await shows(/\/dev\/pts\/\d+/);
      await shows(/here xterm-256color \/tmp/);
      await pty.sendInput(handle.pid, bytes("exit\n"));
      assert.equal((await handle.wait()).exitCode, 0);
    },
    "a shell that fails rejects in wait": async ({ pty }) => {
      const { handle } = await openPty(pty);
      await pty.sendInput(handle.pid, bytes("exit 9\n"));
      assert.equal((await rejectsWith(handle.wait(), "CommandExitError")).exitCode, 9);
    },
    resize: async ({ pty }) => {
      const { handle, shows } = await openPty(pty);
      await pty.resize(handle.pid, { cols: 120, rows: 40 });
      await pty.sendInput(handle.pid, bytes("stty size\n"));
      await shows(/40 120/);
      await pty.kill(handle.pid);
    },
    "control characters reach the foreground program": async ({ pty }) => {
      const { handle, shows } = await openPty(pty);
      await pty.sendInput(handle.pid, bytes("echo begun-$((40+2)); sleep 600; echo stopped-$?\n"));
      // Only then the shell waits for a program, to which the next character goes.
      await shows(/begun-42/);
      await until(async () => {
        await pty.sendInput(handle.pid, bytes("\x03"));
        await pty.sendInput(handle.pid, bytes("echo again-$((40+2))\n"));
        return true;
      }, "input");
      await shows(/again-42/);
      await pty.kill(handle.pid);
    },
    "connect follows a terminal": async ({ pty }) => {
      const { handle } = await openPty(pty);
      await handle.disconnect();
      let text = "";
      const again = await pty.connect(handle.pid, {
        timeoutMs: 0,
        onData: (data) => {
          text += textOf(data);
        },
      });
      assert.equal(again.pid, handle.pid);
      await pty.sendInput(handle.pid, bytes("echo con$((1+1))nected\n"));
      await until(() => text.includes("con2nected"), "output after connect");
      await pty.sendInput(handle.pid, bytes("exit\n"));
      assert.equal((await again.wait()).exitCode, 0);
    },
    kill: async ({ pty }) => {
      const { handle } = await openPty(pty);
      assert.equal(await pty.kill(handle.pid), true);
      await rejectsWith(handle.wait(), "CommandExitError");
      assert.equal(await pty.kill(handle.pid), false);
    },
    "as root": async ({ pty }) => {
      const { handle, shows } = await openPty(pty, { user: "root" });
      await pty.sendInput(handle.pid, bytes("id -un; pwd\n"));
      await shows(/[\r\n]root\r?\n/);
      await handle.kill();
    },
    "it is in the list of processes": async ({ sandbox, pty }) => {
      const { handle } = await openPty(pty);
      const found = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
      assert.deepEqual(found?.args, ["-i", "-l"]);
      await handle.kill();
    },
    "resize of a command without a terminal": async ({ sandbox, pty }) => {
      const handle = await sandbox.commands.run("sleep 600", { background: true });
      await rejectsWith(pty.resize(handle.pid, { cols: 80, rows: 24 }), "SandboxError", /internal/);
      await rejectsWith(pty.sendInput(handle.pid, bytes("x")), "SandboxError", /internal/);
      await handle.kill();
    },
    "an unknown pid": async ({ pty }) => {
      await rejectsWith(pty.resize(999_999, { cols: 80, rows: 24 }), "NotFoundError");
      await rejectsWith(pty.sendInput(999_999, bytes("x")), "NotFoundError");
      await rejectsWith(pty.connect(999_999, { onData: () => undefined }), "NotFoundError");
    },
  },
};
