import assert from "node:assert/strict";
import { Sandbox } from "@e2b/code-interpreter";
import { rejectsWith } from "../../e2b-js/harness.mjs";

export const runCode = {
  title: "runCode",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000, envs: { SANDBOX_WIDE: "all" } });
    return { sandbox };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "gives the value of the last expression, what was printed and the count": async ({ sandbox }) => {
      const run = await sandbox.runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7");
      assert.equal(run.text, "42");
      assert.deepEqual(run.logs, { stdout: ["out\n"], stderr: ["err\n"] });
      assert.equal(run.error, undefined);
      assert.equal((await sandbox.runCode("1")).executionCount, run.executionCount + 1);
    },
    "keeps state between calls": async ({ sandbox }) => {
      await sandbox.runCode("kept = 1");
      assert.equal((await sandbox.runCode("kept + 1")).text, "2");
    },
    "reports an exception": async ({ sandbox }) => {
      const { error } = await sandbox.runCode("undefined_name");
      assert.equal(error.name, "NameError");
      assert.equal(error.value, "name 'undefined_name' is not defined");
      assert.match(error.traceback, /line 1/);
    },
    "calls back with messages, results and errors": async ({ sandbox }) => {
      const seen = [];
      await sandbox.runCode("import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(1)\n1/0", {
        onStdout: (message) => seen.push(`out ${message.line} ${message.error} ${Number.isNaN(new Date(message.timestamp).getTime())}`),
        onStderr: (message) => seen.push(`err ${message.line} ${message.error}`),
        onResult: (result) => seen.push(`result ${result.text} ${result.isMainResult}`),
        onError: (error) => seen.push(error.name),
      });
      assert.deepEqual(seen, ["out a\n false false", "err b\n true", "result 1 false", "ZeroDivisionError"]);
    },
    "streams while the code runs": async ({ sandbox }) => {
      const times = [];
      await sandbox.runCode("import time\nfor i in range(3):\n  print(i, flush=True)\n  time.sleep(0.3)", {
        onStdout: () => {
          times.push(performance.now());
        },
      });
      assert.equal(times.length, 3);
      assert.ok(times[2] - times[0] > 400, String(times));
    },
    "runs indented code and commands of IPython": async ({ sandbox }) => {
      assert.equal((await sandbox.runCode("    x = 2\n    x")).text, "2");
      assert.equal((await sandbox.runCode("!echo $((1+1))")).logs.stdout.join("").trim(), "2");
    },
    "has variables of the sandbox and of the call, the latter for this call alone": async ({ sandbox }) => {
      const code = "import os; [os.environ.get('SANDBOX_WIDE'), os.environ.get('MINE')]";
      assert.deepEqual((await sandbox.runCode(code, { envs: { MINE: "a'b\"\\ $x" } })).results[0].json, ["all", "a'b\"\\ $x"]);
      assert.deepEqual((await sandbox.runCode(code, { envs: { SANDBOX_WIDE: "mine" } })).results[0].json, ["mine", null]);
      assert.deepEqual((await sandbox.runCode(code)).results[0].json, ["all", null]);
    },
    "has variables in JavaScript and Bash too": async ({ sandbox }) => {
      const script = await sandbox.runCode("process.env.MINE + process.env.SANDBOX_WIDE", { language: "js", envs: { MINE: "it's " } });
      assert.equal(script.text, "it's all");
      const shell = await sandbox.runCode('echo "$MINE $SANDBOX_WIDE"', { language: "bash", envs: { MINE: "it's" } });
      assert.equal(shell.logs.stdout.join(""), "it's all\n");
      assert.equal((await sandbox.runCode('echo "[$MINE]"', { language: "bash" })).logs.stdout.join(""), "[]\n");
    },
    "runs JavaScript with imports and promises": async ({ sandbox }) => {
      assert.equal(
        (await sandbox.runCode("import os from 'node:os'; const n = await Promise.resolve(2); n", { language: "javascript" })).text,
        "2",
      );
      assert.equal((await sandbox.runCode("Promise.resolve(n + 1)", { language: "js" })).text, "3");
      assert.match((await sandbox.runCode("nope", { language: "js" })).error.value, /nope is not defined/);
    },
    "runs TypeScript": async ({ sandbox }) => {
      const run = await sandbox.runCode("interface A { n: number }\nconst a: A = { n: 5 };\na.n", { language: "ts" });
      assert.equal(run.text, "5");
    },
    "a language that does not exist is an error": async ({ sandbox }) => {
      await rejectsWith(sandbox.runCode("1", { language: "cobol" }), "SandboxError");
    },
    "a timeout interrupts the code, and the sandbox goes on": async ({ sandbox }) => {
      await sandbox.runCode("before = 1");
      await rejectsWith(sandbox.runCode("import time; time.sleep(60)", { timeoutMs: 500 }), "TimeoutError", /timeoutMs/);
      assert.equal((await sandbox.runCode("before")).text, "1");
    },
    "context and language exclude each other": async ({ sandbox }) => {
      const [context] = await sandbox.listCodeContexts();
      await rejectsWith(sandbox.runCode("1", { language: "python", context }), "InvalidArgumentError");
    },
  },
};
