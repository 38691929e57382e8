import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { python } from "../../src/declarative/python.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("functions of Python", ({ apiUrl, sandboxUrl, apiKey }) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 });
  });
  afterAll(() => sandbox.kill());

  it("are called by name with data", async () => {
    const math = python({ sandbox })`def add(a, b): return a + b`;
    expect(await math.call<number>("add", 1, 2)).toBe(3);
    expect(await math.call("add", "a", "b")).toBe("ab");
    expect(await math.function<[number, number], number>("add")(2, 3)).toBe(5);
  });

  it("values keep their kinds on both ways", async () => {
    const module = python({ sandbox })`
      def echo(value):
          return value

      def kinds(values):
          return [type(value).__name__ for value in values]
    `;
    const values = [
      null,
      true,
      2 ** 40,
      1.5,
      "a\nb",
      [1],
      { a: 1 },
      new Map([[1, 2]]),
      new Set([1]),
      2n ** 80n,
      new Date(1234),
      new Uint8Array([1]),
    ];
    expect(await module.call("kinds", values)).toEqual([
      "NoneType",
      "bool",
      "int",
      "float",
      "str",
      "list",
      "dict",
      "dict",
      "set",
      "int",
      "datetime",
      "bytes",
    ]);
    expect(await module.call("echo", values)).toStrictEqual(values);
    const numbers = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, new Float64Array([1, 2]), new Int16Array([-1])];
    expect(await module.call("echo", numbers)).toStrictEqual(numbers);
    expect(await module.call("echo", [undefined, Object.assign(new Array(2), { 1: 1 }), new URL("http://a/")])).toEqual([
      null,
      [null, 1],
      "http://a/",
    ]);
    const cyclic: { self?: unknown; list: unknown[] } = { list: [] };
    cyclic.self = cyclic;
    cyclic.list.push(cyclic.list);
    const back = await module.call<typeof cyclic>("echo", cyclic);
    expect(back.self).toBe(back);
    expect(back.list[0]).toBe(back.list);
  });

  it("come back as they were, whatever data they are", async () => {
    const { value: anyData } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom(null, true, false, Number.NaN, Number.POSITIVE_INFINITY, -0),
        fc.double(),
        fc.maxSafeInteger(),
        fc.bigInt().filter((n) => n > BigInt(Number.MAX_SAFE_INTEGER) || n < BigInt(Number.MIN_SAFE_INTEGER)),
        fc.string({ unit: "binary" }),
        fc.date({ noInvalidDate: true, min: new Date("0001-01-02"), max: new Date("9999-12-30") }),
        fc.uint8Array(),
        fc.float64Array(),
        fc.array(tie("value")),
        fc.dictionary(
          fc.string().filter((key) => key !== "__proto__"),
          tie("value"),
          { noNullPrototype: true },
        ),
        fc.uniqueArray(fc.string()).map((items) => new Set(items)),
        fc.uniqueArray(fc.tuple(fc.integer(), tie("value")), { minLength: 1, selector: ([key]) => key }).map((entries) => new Map(entries)),
      ),
    }));
    const values = fc.sample(anyData, 300);
    expect(await python({ sandbox })`def echo(value): return value`.call("echo", values)).toStrictEqual(values);
  });

  it("what is raised is thrown with its name, its message and its traceback", async () => {
    const module = python({ sandbox })`
      import asyncio, sys

      def fail(n):
          raise ValueError(f"no {n}")

      async def later(n):
          print('{"forged": true}')
          await asyncio.sleep(0)
          return n

      def leave():
          sys.exit(3)

      def unencodable():
          return {"rows": [1, {"f": fail}]}
    `;
    const error = (await module.call("fail", 1).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "ValueError", message: "no 1" });
    expect(error.stack).toMatch(/module\.py", line 5, in fail/);
    expect(error.stack).not.toMatch(/run\.py/);
    expect(await module.call("later", 5)).toBe(5);
    await expect(module.call("leave")).rejects.toMatchObject({ reason: "command_exit", message: expect.stringContaining("exit code 3") });
    await expect(module.call("unencodable")).rejects.toMatchObject({ name: "SerializationError", found: "a function" });
    await expect(module.call("unencodable")).rejects.toThrow("result.rows[1].f");
    await expect(module.call("missing")).rejects.toThrow("it has: fail, later, leave, unencodable");
    await expect(python({ sandbox })`def broken(:`.call("broken")).rejects.toMatchObject({ name: "SyntaxError" });
  });

  it("a backslash is Python's, data never becomes code, and names are names", async () => {
    const module = python({ sandbox })`def text(): return "a\tb\\"`;
    expect(await module.call("text")).toBe("a\tb\\");
    expect(() => (python as (source: TemplateStringsArray, ...values: unknown[]) => unknown)`x = ${"1"}`).toThrow(/arguments/);
    expect(() => module.call("text; import os")).toThrow(/name of a function/);
  });

  it("packages are installed by pip before the first call", async () => {
    const build = `
import zipfile
with zipfile.ZipFile("greet-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greet.py", "def greet(name): return 'hello ' + name")
    wheel.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greet\\nVersion: 1.0\\n")
    wheel.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greet-1.0.dist-info/RECORD", "")
`;
    await sandbox.files.write("build.py", build);
    await sandbox.commands.run("python3 build.py");
    const module = python({ sandbox, packages: ["/home/user/greet-1.0-py3-none-any.whl"] })`
      from greet import greet

      def twice(name): return [greet(name)] * 2
    `;
    expect(await module.call("twice", "a")).toEqual(["hello a", "hello a"]);
  });

  it("map works through a list", async () => {
    const double = python({ sandbox })`
      def double(n): return n * 2
    `.function<[number], number>("double");
    expect(await double.map([1, 2, 3], { concurrency: 2 })).toEqual([2, 4, 6]);
  });
});
