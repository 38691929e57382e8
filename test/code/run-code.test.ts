import { expect, it } from "vitest";
import * as sdk from "../../src/code-interpreter.js";
import { describeCode } from "./support/code-suite.js";

describeCode(
  "runCode",
  (suite) => {
    it("gives the value of the last expression, what was written, and the count of executions", async () => {
      const run = await suite.sandbox.runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7");
      expect(run).toMatchObject({ text: "42", stdout: "out\n", stderr: "err\n", error: undefined, truncatedBytes: undefined });
      expect(run.results.map(({ isMainResult }) => isMainResult)).toEqual([true]);
      expect((await suite.sandbox.runCode("")).executionCount).toBeGreaterThan(run.executionCount ?? 0);
    });

    it("keeps the state of each language between calls", async () => {
      await suite.sandbox.runCode("x = 1");
      await suite.sandbox.runCode("const x = 2", { language: "javascript" });
      await suite.sandbox.runCode("let x: number = 3", { language: "typescript" });
      await suite.sandbox.runCode("x=4", { language: "bash" });
      expect((await suite.sandbox.runCode("x")).text).toBe("1");
      expect((await suite.sandbox.runCode("x", { language: "js" })).text).toBe("2");
      expect((await suite.sandbox.runCode("x as unknown", { language: "ts" })).text).toBe("3");
      expect((await suite.sandbox.runCode("echo $x", { language: "sh" })).stdout).toBe("4\n");
    });

    it("an exception is a part of the result, with class, message and traceback", async () => {
      const { error, results } = await suite.sandbox.runCode("def f():\n  return nope\nf()");
      expect(error).toMatchObject({ name: "NameError", value: "name 'nope' is not defined" });
      expect(error?.traceback).toContain("return nope");
      expect(error?.traceback).not.toContain("\u001b");
      expect(results).toEqual([]);
    });

    it("callbacks get everything in its order and are awaited", async () => {
      const seen: string[] = [];
      const say = (text: string) => async () => {
        await Promise.resolve();
        seen.push(text);
      };
      await suite.sandbox.runCode("import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay('c')\n1 / 0", {
        onStdout: ({ text, at }) => say(`stdout ${text} ${Number.isNaN(at.getTime())}`)(),
        onStderr: ({ text }) => say(`stderr ${text}`)(),
        onResult: ({ text }) => say(`result ${text}`)(),
        onError: ({ name }) => say(name)(),
      });
      expect(seen).toEqual(["stdout a\n false", "stderr b\n", "result c", "ZeroDivisionError"]);
    });

    it("a callback that fails ends the execution, and its failure is that of the call", async () => {
      const failure = new Error("enough");
      const run = suite.sandbox.runCode("import time\nprint(1, flush=True)\ntime.sleep(60)", {
        onStdout: () => {
          throw failure;
        },
      });
      await expect(run).rejects.toBe(failure);
      expect((await suite.sandbox.runCode("1 + 1")).text).toBe("2");
    });

    it("variables are data, belong to one execution, and give back what they hid", async () => {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: what a shell would take for a variable
      const hostile = "'; import os; os._exit(1) #\"\\ $(touch /tmp/owned) `x` ${y} \n é";
      const read = { python: "import os; os.environ.get('MINE')", javascript: "process.env.MINE", typescript: "process.env.MINE" };
      for (const [language, code] of Object.entries(read)) {
        const shown = language === "python" ? "print(os.environ['MINE'], end='')" : "process.stdout.write(process.env.MINE)";
        await suite.sandbox.runCode(code, { language });
        expect((await suite.sandbox.runCode(shown, { language, envs: { MINE: hostile } })).stdout).toBe(hostile);
        expect((await suite.sandbox.runCode(code, { language })).text).toBeUndefined();
        expect((await suite.sandbox.runCode(code.replace("MINE", "WIDE"), { language, envs: { WIDE: "mine" } })).text).toBe("mine");
        expect((await suite.sandbox.runCode(code.replace("MINE", "WIDE"), { language })).text).toBe("of all");
      }
      const shell = { language: "bash" };
      expect((await suite.sandbox.runCode('printf %s "$MINE"', { ...shell, envs: { MINE: hostile } })).stdout).toBe(hostile);
      expect((await suite.sandbox.runCode('echo "[$MINE] $WIDE"', { ...shell, envs: { WIDE: "mine" } })).stdout).toBe("[] mine\n");
      expect((await suite.sandbox.runCode('echo "$WIDE"; ls /tmp/owned', shell)).stdout).toBe("of all\n");
    });

    it("what pip installs for the user is found at once", async () => {
      await suite.sandbox.runCode("import site\nopen(site.getusersitepackages() + '/fresh_module.py', 'w').write('x = 7')");
      expect((await suite.sandbox.runCode("import fresh_module; fresh_module.x")).text).toBe("7");
    });

    it("JavaScript has imports, top-level await and displays of its own", async () => {
      const run = (code: string) => suite.sandbox.runCode(code, { language: "javascript" });
      expect(
        (await run("import path, { join as j } from 'node:path'; import * as fs from 'fs'; j('a', 'b') + typeof fs.readFileSync")).text,
      ).toBe("a/bfunction");
      expect((await run("const later = await import('node:os'); typeof later.cpus")).text).toBe("function");
      expect((await run("({ a: [1, 'b'] })")).results[0]?.json).toEqual({ a: [1, "b"] });
      expect((await run("{ a: 1 }")).results[0]?.json).toEqual({ a: 1 });
      expect((await run("display({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<b>' }) }); 1")).results[0]?.html).toBe("<b>");
      expect((await run("undefined")).results).toEqual([]);
      expect((await run("'it is \"quoted\"'")).text).toBe('it is "quoted"');
      expect((await run("let broken = ;")).error).toMatchObject({ name: "SyntaxError" });
      expect((await run("throw 'text'")).error).toMatchObject({ name: "Uncaught", value: "text" });
      await suite.sandbox.files.write("/home/user/mine.mjs", "export default 'from a file'");
      expect((await run("(await import('./mine.mjs')).default")).text).toBe("from a file");
    });

    it("TypeScript has types, enumerations and imports of types", async () => {
      const run = (code: string) => suite.sandbox.runCode(code, { language: "typescript" });
      expect((await run("import type { Stats } from 'node:fs';\ninterface A { n: number }\nconst a: A = { n: 5 };\na.n")).text).toBe("5");
      expect((await run("enum Kind { A = 3 }\nKind.A")).text).toBe("3");
      expect((await run("const x: = 1")).error?.name).toMatch(/SyntaxError|Error/);
    });

    it("Bash reports the status of its last command", async () => {
      const { error, stdout } = await suite.sandbox.runCode("echo before; (exit 3)", { language: "bash" });
      expect(stdout).toBe("before\n");
      expect(error).toMatchObject({ name: "ExitStatus", value: "3" });
    });

    it("an installed kernel is used by its name, and what is not installed is named in the error", async () => {
      const { error } = await suite.sandbox.runCode("1", { language: "cobol" }).then(
        () => ({ error: undefined }),
        (error: unknown) => ({ error }),
      );
      expect(error).toBeInstanceOf(sdk.InvalidArgumentError);
      expect((error as Error).message).toMatch(/cobol.*bash, javascript, python/);
      expect((await suite.sandbox.code.listContexts()).map(({ language }) => language)).not.toContain("cobol");
      await suite.sandbox.commands.run(
        "mkdir -p ~/.local/share/jupyter/kernels/mine && cp /usr/share/jupyter/kernels/python3/kernel.json ~/.local/share/jupyter/kernels/mine/",
      );
      expect((await suite.sandbox.runCode("21 * 2", { language: "mine" })).text).toBe("42");
      const spec = "~/.local/share/jupyter/kernels/mine/kernel.json";
      await suite.sandbox.commands.run(`sed -i 's/"language": *"python"/"language": "Parsel"/' ${spec} && grep -q Parsel ${spec}`);
      expect((await suite.sandbox.runCode("21 * 2", { language: "parsel" })).text).toBe("42");
      await expect(suite.sandbox.runCode("1", { language: "mine", envs: { A: "1" } })).rejects.toThrow(/takes no variables/);
    });

    it("a kernel that ends before it answers is started again, and one that always does is named", async () => {
      const write = (name: string, script: string) =>
        suite.sandbox.files.write(
          `/home/user/.local/share/jupyter/kernels/${name}/kernel.json`,
          JSON.stringify({ display_name: name, language: name, argv: ["sh", "-c", script, "sh", "{connection_file}"] }),
        );
      await write("stumbling", 'mkdir /tmp/stumbled 2>/dev/null && exit 1; exec python3 -m ipykernel_launcher -f "$1"');
      expect((await suite.sandbox.runCode("21 * 2", { language: "stumbling" })).text).toBe("42");
      await write("falling", "echo . >> /tmp/fallen; exit 7");
      await expect(suite.sandbox.runCode("1", { language: "falling" })).rejects.toThrow(
        "the kernel 'falling' did not start: it ended with status 7",
      );
      expect(await suite.sandbox.files.read("/tmp/fallen")).toBe(".\n.\n.\n");
    });

    it("the service refuses what it does not understand, as text or with the status of a malformed body", async () => {
      const { sandboxUrl } = suite.platform;
      const headers = { "e2b-sandbox-id": suite.sandbox.sandboxId, "e2b-sandbox-port": "49999" };
      const post = (path: string, body: string) => fetch(`${sandboxUrl}${path}`, { method: "POST", headers, body });
      expect((await post("/contexts", "{")).status).toBe(422);
      expect((await post("/contexts", '{"language": 5}')).status).toBe(422);
      expect(await (await fetch(`${sandboxUrl}/health`, { headers })).json()).toBe("OK");
      const unknown = await fetch(`${sandboxUrl}/contexts/none`, { method: "DELETE", headers });
      expect([unknown.status, await unknown.text()]).toEqual([404, "Context none not found"]);
      // Nobody runs code without the token of the sandbox.
      expect((await post("/execute", '{"code": "1"}')).status).toBe(401);
    });

    it("a template without kernels is named in the error, and so is the one to use", async () => {
      const { apiUrl, sandboxUrl, apiKey } = suite.platform;
      await using other = await sdk.Sandbox.create("base", { apiUrl, sandboxUrl, apiKey });
      await expect(other.runCode("1")).rejects.toMatchObject({
        name: "TemplateError",
        reason: "failed_precondition",
        message: expect.stringContaining("code-interpreter-v1") as string,
      });
    });
  },
  { WIDE: "of all" },
);
