import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxBackend, type OwnedSandboxBackend } from "../../../src/agent/langchain/open-backend.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("searches of a backend for deepagents", ({ apiUrl, sandboxUrl, apiKey }) => {
  let backend: OwnedSandboxBackend;
  beforeAll(async () => {
    backend = createSandboxBackend({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 300_000 } });
    const files = {
      "a.txt": "Hello world\nhello $100 [a-z]*\n",
      "b.py": "Hello: a:b:c\n世界 unicode",
      "sub/c.ts": "Hello",
      "sub/deep/d.tsx": "Hello",
      "sub/deep/é.ts": "Hello",
      "odd:1:na\nme.txt": "Hello odd",
      "-e.txt": "Hello dash",
      ".hidden": "Hello hidden",
    };
    await backend.uploadFiles(Object.entries(files).map(([name, text]) => [`/tmp/s/${name}`, new TextEncoder().encode(text)]));
    await backend.execute("cd /tmp/s; printf 'Hello\\0' > binary; ln -s /tmp/s/sub link; mkfifo pipe; mkdir empty");
  });
  afterAll(() => backend.close());
  const found = async (...args: Parameters<OwnedSandboxBackend["grep"]>) => {
    const { matches, error } = await backend.grep(...args);
    expect(error).toBeUndefined();
    return matches?.map(({ path, line, text }) => `${path.replace("/tmp/s/", "")}|${line}|${text}`).sort();
  };
  const globbed = async (pattern: string, path = "/tmp/s") => {
    const { files, error } = await backend.glob(pattern, path);
    expect(error).toBeUndefined();
    return files?.map((file) => file.path.replace("/tmp/s/", "")).sort();
  };

  it("grep: literal, case-sensitive, below a directory, in text files of any name", async () => {
    expect(await found("Hello", "/tmp/s")).toEqual(
      [
        ...["-e.txt|1|Hello dash", ".hidden|1|Hello hidden", "a.txt|1|Hello world", "b.py|1|Hello: a:b:c"],
        ...["odd:1:na\nme.txt|1|Hello odd", "sub/c.ts|1|Hello", "sub/deep/d.tsx|1|Hello", "sub/deep/é.ts|1|Hello"],
      ].sort(),
    );
    expect(await found("$100 [a-z]*", "/tmp/s")).toEqual(["a.txt|2|hello $100 [a-z]*"]);
    expect(await found("世界", "/tmp/s")).toEqual(["b.py|2|世界 unicode"]);
    expect(await found("-e nothing", "/tmp/s")).toEqual([]);
    expect(await found("Hello", "/tmp/s/a.txt")).toEqual(["a.txt|1|Hello world"]);
    expect(await found("Hello", "/tmp/s/empty")).toEqual([]);
    expect((await backend.grep("a\nb", "/tmp/s")).error).toContain("line break");
    expect((await backend.grep("x", "/tmp/none")).error).toContain("'/tmp/none' not found");
  });

  it("grep: a glob is one of the name or, with a slash, of the path", async () => {
    expect(await found("Hello", "/tmp/s", "*.py")).toEqual(["b.py|1|Hello: a:b:c"]);
    expect(await found("Hello", "/tmp/s", "?.ts")).toEqual(["sub/c.ts|1|Hello", "sub/deep/é.ts|1|Hello"]);
    expect(await found("Hello", "/tmp/s", "*.{ts,tsx}")).toHaveLength(3);
    expect(await found("Hello", "/tmp/s", "sub/*.ts")).toEqual(["sub/c.ts|1|Hello"]);
    expect(await found("Hello", "/tmp/s", "sub/**")).toHaveLength(3);
    expect(await found("Hello", "/tmp/s", "/tmp/s/sub/**/*.tsx")).toEqual(["sub/deep/d.tsx|1|Hello"]);
    expect(await found("Hello", "/tmp/s/sub/c.ts", "*.ts")).toEqual(["sub/c.ts|1|Hello"]);
  });

  it("grep: a count ends it early and says so; lines and files without end are bounded", async () => {
    expect(await backend.grep("Hello", "/tmp/s", null, 3)).toMatchObject({ truncated: true, matches: { length: 3 } });
    expect(await backend.grep("Hello", "/tmp/s", null, 8)).not.toHaveProperty("truncated");
    await backend.execute(
      "mkdir -p /tmp/big; yes needle | head -n 3000000 > /tmp/big/lines; (printf needle; head -c 50M /dev/zero | tr '\\0' x) > /tmp/big/line",
    );
    const lines = await backend.grep("needle", "/tmp/big/lines");
    expect(lines.truncated).toBe(true);
    expect(lines.matches).toHaveLength(10_000);
    const { matches: [one] = [] } = await backend.grep("needle", "/tmp/big/line");
    expect(one?.text.length).toBeLessThan(2_100);
    await backend.delete("/tmp/big");
  });

  it("glob: absolute paths of files and directories, hidden ones too, without following links", async () => {
    expect(await globbed("*.txt")).toEqual(["-e.txt", "a.txt", "odd:1:na\nme.txt"]);
    expect(await globbed("**/*.{ts,tsx}")).toEqual(["sub/c.ts", "sub/deep/d.tsx", "sub/deep/é.ts"]);
    expect(await globbed("*")).toEqual(["-e.txt", ".hidden", "a.txt", "b.py", "binary", "empty", "link", "odd:1:na\nme.txt", "sub"].sort());
    expect(await globbed("/tmp/s/sub/**/*.tsx")).toEqual(["sub/deep/d.tsx"]);
    expect(await globbed("/sub/*.ts")).toEqual(["sub/c.ts"]);
    expect(await globbed("*.none")).toEqual([]);
    expect((await backend.glob("[a-b].{txt,py}", "/tmp/s/")).files?.[0]).toMatchObject({
      path: expect.stringMatching(/^\/tmp\/s\/(a\.txt|b\.py)$/),
      is_dir: false,
      modified_at: expect.stringMatching(/Z$/),
    });
    expect((await backend.glob("sub", "/tmp/s")).files).toMatchObject([{ path: "/tmp/s/sub", is_dir: true }]);
    expect((await backend.glob("*", "/tmp/none")).error).toContain("'/tmp/none' not found");
  });

  it("searches from the root end, and find what was written before what belongs to the system", async () => {
    const { matches, truncated } = await backend.grep("Hello", undefined, null, 5);
    expect(truncated).toBe(true);
    expect(matches?.every(({ path }) => /^\/(home|tmp)\//.test(path))).toBe(true);
    const { files } = await backend.glob("**/*.py");
    expect(files?.[0]?.path).toBe("/tmp/s/b.py");
    expect(files?.some(({ path }) => path.startsWith("/proc/"))).toBe(false);
    expect((await backend.glob("tmp")).files).toMatchObject([{ path: "/tmp", is_dir: true }]);
  });

  it("programs of the guest that are called grep and find can neither lie about having found nothing nor break the program", async () => {
    await using own = createSandboxBackend({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 } });
    const replace = async (script: string) => {
      for (const name of ["grep", "find"]) await own.write(`/home/user/bin/${name}`, `#!/bin/sh\n${script}\n`);
      await own.execute("chmod +x bin/*");
    };
    await replace("echo unrecognized option >&2; exit 1");
    expect((await own.grep("x", "/tmp")).error).toMatch(/grep ended by exit code 1: unrecognized option/);
    expect((await own.glob("*", "/tmp")).error).toMatch(/find ended by exit code 1: unrecognized option/);
    await replace("kill -9 $$");
    expect((await own.grep("x", "/tmp")).error).toMatch(/grep ended by SIGKILL/);
    await replace(
      "head -c 5000000 /dev/zero; printf 'a\\0b:c\\nf\\tx'; yes | head -c 5000000; printf 'f\\t1\\t99999999999999999999\\t/x\\0'",
    );
    expect(await own.grep("x", "/tmp")).toEqual({ matches: [] });
    expect(await own.glob("*", "/tmp")).toEqual({ files: [] });
  });
});
