import assert from "node:assert/strict";
import { Sandbox } from "e2b-older";
import { rejectsWith } from "../harness.mjs";

/** The last version of the client that speaks the older routes of create and connect. */
export const older = {
  title: "older routes",
  setUp: async () => ({ sandbox: await Sandbox.create({ timeoutMs: 120_000 }) }),
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "create is secured and runs commands and files": async ({ sandbox }) => {
      assert.equal((await sandbox.commands.run("echo hello")).stdout, "hello\n");
      await sandbox.files.write("a.txt", "a");
      assert.equal(await sandbox.files.read("a.txt"), "a");
      const answer = await fetch(new URL("/files?path=a.txt", process.env.E2B_SANDBOX_URL), {
        headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "49983" },
      });
      assert.equal(answer.status, 401);
    },
    "create with secure false needs no token": async () => {
      const open = await Sandbox.create({ secure: false });
      try {
        await open.files.write("a.txt", "open");
        const answer = await fetch(new URL("/files?path=a.txt", process.env.E2B_SANDBOX_URL), {
          headers: { "E2b-Sandbox-Id": open.sandboxId, "E2b-Sandbox-Port": "49983" },
        });
        assert.deepEqual([answer.status, await answer.text()], [200, "open"]);
      } finally {
        await open.kill();
      }
    },
    "connect extends and never shortens": async ({ sandbox }) => {
      const before = (await sandbox.getInfo()).endAt.getTime();
      await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1_000 });
      assert.equal((await sandbox.getInfo()).endAt.getTime(), before);
      await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 });
      assert.ok((await sandbox.getInfo()).endAt.getTime() > before + 400_000);
    },
    "connect to nothing": () => rejectsWith(Sandbox.connect("nonexistingsandbox"), "SandboxNotFoundError"),
    "a timeout of 0": () => rejectsWith(Sandbox.create({ timeoutMs: 0 }), "SandboxError", /^400/),
  },
};
