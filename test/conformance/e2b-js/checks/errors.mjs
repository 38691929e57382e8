import assert from "node:assert/strict";
import { Sandbox } from "e2b";
import { rejectsWith } from "../harness.mjs";

export const errors = {
  title: "errors",
  setUp: async () => {
    const gone = await Sandbox.create();
    await gone.kill();
    return { gone };
  },
  checks: {
    "kill of an unknown id says false": async () => assert.equal(await Sandbox.kill("nonexistingsandbox"), false),
    "getInfo, connect and setTimeout of a killed sandbox": async ({ gone }) => {
      await rejectsWith(gone.getInfo(), "SandboxNotFoundError");
      await rejectsWith(Sandbox.connect(gone.sandboxId), "SandboxNotFoundError");
      await rejectsWith(gone.setTimeout(10_000), "SandboxNotFoundError");
    },
    "files of a killed sandbox": ({ gone }) => rejectsWith(gone.files.read("x"), "TimeoutError"),
    "commands of a killed sandbox": ({ gone }) => rejectsWith(gone.commands.run("true"), "SandboxNotFoundError"),
    "calls of a killed sandbox over RPC": async ({ gone }) => {
      await rejectsWith(gone.files.list("/"), "TimeoutError");
      await rejectsWith(gone.commands.list(), "TimeoutError");
    },
    "the host of a killed sandbox answers 502 in JSON": async ({ gone }) => {
      const answer = await fetch(process.env.E2B_SANDBOX_URL, {
        headers: { "E2b-Sandbox-Id": gone.sandboxId, "E2b-Sandbox-Port": "3000" },
      });
      assert.equal(answer.status, 502);
      const body = await answer.json();
      assert.equal(body.message, "The sandbox was not found");
      assert.ok(gone.sandboxId.startsWith(body.sandboxId));
      assert.equal(body.code, 502);
    },
    "a sandbox killed during a command": async () => {
      const sandbox = await Sandbox.create();
      const handle = await sandbox.commands.run("sleep 600", { background: true });
      const waiting = rejectsWith(handle.wait(), "TimeoutError", /killed or reached its end of life/);
      await sandbox.kill();
      await waiting;
    },
    "a wrong key": () => rejectsWith(Sandbox.create({ apiKey: "e2b_0000" }), "AuthenticationError"),
    "an unknown template": () => rejectsWith(Sandbox.create("no-such-template"), "SandboxError", /^404/),
    "a timeout of 0": () => rejectsWith(Sandbox.create({ timeoutMs: 0 }), "SandboxError", /^400/),
    "a timeout that does not fit": () => rejectsWith(Sandbox.create({ timeoutMs: 2 ** 42 }), "SandboxError", /^400/),
    "a malformed id": () => rejectsWith(Sandbox.getInfo("not_an.id"), "SandboxError", /^400/),
    "a wrong token for the daemon": async () => {
      const sandbox = await Sandbox.create();
      try {
        const answer = await fetch(new URL("/files?path=/etc/hostname", process.env.E2B_SANDBOX_URL), {
          headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "49983", "X-Access-Token": "wrong" },
        });
        assert.equal(answer.status, 401);
        assert.equal((await answer.json()).code, 401);
      } finally {
        await sandbox.kill();
      }
    },
    "routes of the daemon that only the platform may call": async () => {
      const sandbox = await Sandbox.create();
      try {
        const answer = await fetch(new URL("/init", process.env.E2B_SANDBOX_URL), {
          method: "POST",
          headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "49983" },
        });
        assert.equal(answer.status, 404);
      } finally {
        await sandbox.kill();
      }
    },
  },
};
