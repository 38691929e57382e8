import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { describeCode } from "./support/code-suite.js";

describeCode("output", (suite) => {
  it("COD-12: pieces add up to what was written, in the order of both streams", async () => {
    const code = [
      "import sys",
      "print('a', end='')",
      "print('b', end='', flush=True)",
      "print('\\rc\\n\\nd')",
      "print('e', file=sys.stderr)",
      "print('f')",
      "print('g', file=sys.stderr, end='')",
    ].join("\n");
    let order = "";
    const run = await suite.sandbox.runCode(code, {
      onStdout: ({ text, at }) => {
        expect(Number.isNaN(at.getTime())).toBe(false);
        order += text;
      },
      onStderr: ({ text }) => {
        order += text.toUpperCase();
      },
    });
    expect(run).toMatchObject({ stdout: "ab\rc\n\nd\nf\n", stderr: "e\ng" });
    expect(order).toBe("ab\rc\n\nd\nE\nf\nG");
    expect(run.logs.stdout.join("")).toBe(run.stdout);
  });

  it("output of programs that the code starts is output of the code", async () => {
    const python = await suite.sandbox.runCode(
      "import os, subprocess\nos.system('echo one')\n_ = subprocess.run(['sh', '-c', 'echo two >&2'])",
    );
    expect(python.stdout).toContain("one\n");
    expect(python.stderr).toContain("two\n");
    const script = "require('node:child_process').execSync('echo three', { stdio: 'inherit' })";
    expect((await suite.sandbox.runCode(script, { language: "js" })).stdout).toBe("three\n");
  });

  it("what a program wrote before the code ended is output of that code and of no later one, also as much as a pipe holds", async () => {
    for (let round = 0; round < 20; round += 1) {
      const digit = String(round % 10);
      const run = await suite.sandbox.runCode(`import os\n_ = os.system("head -c 60000 /dev/zero | tr '\\\\0' ${digit}")`);
      expect([run.error, run.stdout.length, new Set(run.stdout)]).toEqual([undefined, 60_000, new Set([digit])]);
    }
  });

  it("characters of programs are whole wherever a pipe cuts them, and bytes that are none end nothing", async () => {
    const print = (text: string) => `import os\n_ = os.system("${text}")`;
    const wide = await suite.sandbox.runCode(print("yes x数据🙂 | head -c 48000"));
    expect(wide.stdout).toBe("x数据🙂\n".repeat(4_000));
    expect((await suite.sandbox.runCode(print("printf '\\\\377a'"))).stdout).toBe("\ufffda");
    expect((await suite.sandbox.runCode(print("echo after"))).stdout).toBe("after\n");
  });

  it.each([
    ["python", "import subprocess; endless = subprocess.Popen(['yes'])", "endless.kill()"],
    ["bash", "yes & ", "kill $!"],
    ["javascript", "const endless = require('node:child_process').spawn('yes', { stdio: 'inherit' }); 0", "endless.kill()"],
  ])("a program of %s that goes on writing does not hold up the code that started it", async (language, start, end) => {
    const context = await suite.sandbox.code.createContext({ language });
    expect((await suite.sandbox.runCode(start, { context, maxOutputBytes: 1_000 })).error).toBeUndefined();
    expect((await suite.sandbox.runCode(end, { context, maxOutputBytes: 1_000 })).error).toBeUndefined();
    await suite.sandbox.code.removeContext(context);
  });

  it("COD-11: a line of five million wide characters and an image of 20 MB arrive whole", async () => {
    const wide = await suite.sandbox.runCode("print('数据🙂' * 1_700_000)");
    expect(wide.stdout.length).toBe(1_700_000 * 4 + 1);
    expect(wide.stdout.startsWith("数据🙂数")).toBe(true);
    expect(wide.stdout.endsWith("据🙂\n")).toBe(true);
    const code = "import base64, os\ndisplay({'image/png': base64.b64encode(bytes(20 * 2**20)).decode()}, raw=True)";
    expect((await suite.sandbox.runCode(code)).results[0]?.png?.length).toBe(Math.ceil((20 * 2 ** 20) / 3) * 4);
  });

  it("a slow reader makes the kernel wait: all of 40 MB arrives, and neither kernel nor daemon holds it meanwhile", async () => {
    let bytes = 0;
    let isFirst = true;
    let residentKb = 0;
    const run = await suite.sandbox.runCode("for i in range(400): print('y' * 99_999)", {
      maxOutputBytes: 0,
      onStdout: async ({ text }) => {
        bytes += text.length;
        if (!isFirst) return;
        isFirst = false;
        await pause(1_500);
        const { stdout } = await suite.sandbox.commands.run("ps -eo rss= --sort=-rss | head -1");
        residentKb = Number(stdout);
      },
    });
    expect(run.error).toBeUndefined();
    expect(bytes).toBe(400 * 100_000);
    expect(residentKb).toBeLessThan(150_000);
  });

  it("maxOutputBytes keeps both ends and counts the rest", async () => {
    const run = await suite.sandbox.runCode("print('a' * 1000, end='')\nprint('b' * 1000, end='')", { maxOutputBytes: 100 });
    expect(run.stdout).toMatch(/^a{50}\n\[\.\.\. 1900 bytes left out \.\.\.\]\nb{50}$/);
    expect(run.truncatedBytes).toBe(1900);
  });
});
