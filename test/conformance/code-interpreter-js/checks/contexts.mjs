import assert from "node:assert/strict";
import { E2B, Sandbox } from "@e2b/code-interpreter";
import { rejectsWith } from "../../e2b-js/harness.mjs";

export const contexts = {
  title: "contexts",
  setUp: async () => ({ sandbox: await Sandbox.create({ timeoutMs: 300_000 }) }),
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "those of Python and JavaScript are there from the start": async ({ sandbox }) => {
      const languages = (await sandbox.listCodeContexts()).map(({ language }) => language);
      assert.deepEqual(languages.slice(0, 2), ["python", "javascript"]);
    },
    "create, use, restart and remove": async ({ sandbox }) => {
      const context = await sandbox.createCodeContext({ cwd: "/tmp", language: "python" });
      assert.deepEqual([context.language, context.cwd], ["python", "/tmp"]);
      assert.equal((await sandbox.runCode("import os; own = 1; os.getcwd()", { context })).text, "/tmp");
      assert.equal((await sandbox.runCode("own")).error.name, "NameError");
      assert.equal((await sandbox.listCodeContexts()).at(-1).id, context.id);
      await sandbox.restartCodeContext(context);
      assert.equal((await sandbox.runCode("own", { context })).error.name, "NameError");
      await sandbox.removeCodeContext(context.id);
      await rejectsWith(sandbox.runCode("1", { context }), "NotFoundError");
      await rejectsWith(sandbox.removeCodeContext(context), "NotFoundError");
      await rejectsWith(sandbox.restartCodeContext(context), "NotFoundError");
    },
    "a context of another language": async ({ sandbox }) => {
      const context = await sandbox.createCodeContext({ language: "bash", cwd: "/usr" });
      assert.equal((await sandbox.runCode("pwd", { context })).logs.stdout.join(""), "/usr\n");
    },
    "the client E2B of the package makes sandboxes that run code": async () => {
      const sandbox = await new E2B().Sandbox.create({ timeoutMs: 60_000 });
      try {
        assert.equal((await sandbox.runCode("1 + 1")).text, "2");
      } finally {
        await sandbox.kill();
      }
    },
    "code runs in a sandbox with private ports": async () => {
      const sandbox = await Sandbox.create({ timeoutMs: 60_000, network: { allowPublicTraffic: false } });
      try {
        assert.equal((await sandbox.runCode("1 + 1")).text, "2");
        assert.ok((await sandbox.listCodeContexts()).length >= 2);
      } finally {
        await sandbox.kill();
      }
    },
    "a kill during an execution is told": async () => {
      const sandbox = await Sandbox.create({ timeoutMs: 60_000 });
      let started;
      const running = new Promise((resolve) => {
        started = resolve;
      });
      const run = sandbox.runCode("import time; print('go', flush=True); time.sleep(60)", { onStdout: () => started() });
      run.catch(() => {});
      await running;
      await sandbox.kill();
      await rejectsWith(run, "TimeoutError", /killed/);
    },
    "a template without kernels is an error": async () => {
      const sandbox = await Sandbox.create("base", { timeoutMs: 60_000 });
      try {
        await rejectsWith(sandbox.runCode("1"), "TimeoutError", /port is not open/);
      } finally {
        await sandbox.kill();
      }
    },
  },
};
