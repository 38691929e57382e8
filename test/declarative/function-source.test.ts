import { readFileSync as read } from "node:fs";
import path, * as paths from "node:path";
import { describe, expect, it } from "vitest";
import { captureCallSite } from "../../src/declarative/call-site.js";
import { toFunctionProgram } from "../../src/declarative/function-program.js";
import { InvalidArgumentError } from "../../src/errors/error-classes.js";
import describeShapes, { area as areaOf, type Circle, countCalls, digest } from "./support/shapes.js";

const outer = { factor: 2 };
const double = async (n: number): Promise<number> => (n === 0 ? 0 : 2 + (await double(n - 1)));
async function halve(n: number): Promise<number> {
  return n <= 1 ? n : halve(n / 2);
}

/** Stands for `remote`: what matters is where it is called. */
function load(fn: (...args: never[]) => unknown, packages: readonly string[] = []) {
  return bundled(fn, captureCallSite(load)(), packages);
}

async function bundled(
  fn: (...args: never[]) => unknown,
  site: ReturnType<ReturnType<typeof captureCallSite>>,
  packages: readonly string[],
) {
  const { files, install } = await toFunctionProgram({ fn, name: fn.name || "it", site }, packages);
  const code = String(files.find((file) => file.path.endsWith("function.mjs"))?.data);
  const url = `data:text/javascript;base64,${Buffer.from(code.replace(/^import \{ createRequire .*$/m, "")).toString("base64")}`;
  return { code, install, run: async (...args: unknown[]) => (await import(url)).default(...args) };
}

describe("a function that is sent", () => {
  it("takes its imports with it, under whatever name it knows them, and nothing else of its module", async () => {
    const { code, run } = await load(async (circle: Circle, text: string) => ({
      area: areaOf(circle),
      digest: digest(text).slice(0, 8),
      base: path.basename("/a/b.txt"),
      same: paths.join("a", "b"),
      read: typeof read,
    }));
    expect(await run({ radius: 1 }, "x")).toEqual({ area: Math.PI, digest: "2d711642", base: "b.txt", same: "a/b", read: "function" });
    expect(code).not.toContain("Stands for");
  });

  it("may be defined elsewhere in its module, call itself, or be imported with all that is around it", async () => {
    expect(await (await load(double)).run(4)).toBe(8);
    expect(await (await load(halve)).run(8)).toBe(1);
    const { run } = await load(countCalls);
    expect([await run(), await run()]).toEqual([1, 2]);
    expect(await (await load(describeShapes)).run()).toEqual(["countCalls"]);
  });

  it("may have defaults, rest, destructuring, inner functions, classes and loops of its own", async () => {
    const { run } = await load(async function tally({ start = 1 }: { start?: number }, ...rest: number[]) {
      class Counter {
        total = start;
        add(n: number) {
          this.total += n;
          return this;
        }
      }
      const counter = new Counter();
      for (const n of rest) counter.add(n);
      const label = (n: number): string => (n > 0 ? `${n}!` : label(1));
      // biome-ignore lint/complexity/noArguments: it is the function's own
      return [label(counter.total), arguments.length];
    });
    expect(await run({}, 2, 3)).toEqual(["6!", 3]);
  });

  it("is found also where several calls stand in one line", async () => {
    const tools = { load: (...args: Parameters<typeof load>) => bundled(args[0], captureCallSite(tools.load)(), []) };
    // biome-ignore format: one line is what this is about
    const [one, two, three] = await Promise.all([load(async () => 1), tools.load(async () => 2).then((found) => found), load(async () => 3)]);
    expect([await one.run(), await two.run(), await three.run()]).toEqual([1, 2, 3]);
  });

  it("may import on the way", async () => {
    const { run } = await load(async () => (await import("./support/shapes.js")).area({ radius: 2 }));
    expect(await run()).toBe(4 * Math.PI);
  });
});

describe("a function that uses a variable around it is refused with the name of the variable", () => {
  it.each([
    ["of its module", () => load(async (n: number) => n * outer.factor), "outer"],
    ["a function of its module", () => load(async (n: number) => halve(n)), "halve"],
    [
      "of a function around it",
      () => {
        const secret = 42;
        return load(async () => secret);
      },
      "secret",
    ],
    [
      "in a default of a parameter",
      () => {
        const limit = 3;
        return load(async (n = limit) => n);
      },
      "limit",
    ],
    [
      "that it writes to",
      () => {
        let seen = 0;
        void seen;
        return load(async () => {
          seen += 1;
        });
      },
      "seen",
    ],
    ["shorthand in an object", () => load(async () => ({ outer })), "outer"],
    [
      "`this`",
      function (this: unknown) {
        return load(async () => this);
      },
      "this",
    ],
  ])("%s", async (_title, define, name) => {
    const error = await define.call(undefined).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(`\`${name}\``);
  });

  it("also where the file that defines it is not there", async () => {
    // biome-ignore lint/security/noGlobalEval: a function without a file is what this is about
    const evaluated = globalThis.eval("async (n) => n + notDefinedHere");
    await expect(bundled(evaluated, undefined, [])).rejects.toThrow("`notDefinedHere`");
    // biome-ignore lint/security/noGlobalEval: as above
    const complete = globalThis.eval("({ async add(a, b) { return Math.max(a, b) + [a, b].length; } }).add");
    expect(await (await bundled(complete, { file: "/nowhere.js", line: 1, column: 1 }, [])).run(1, 2)).toBe(4);
    await expect(bundled(Math.max as never, undefined, [])).rejects.toThrow(/native|built in/);
  });
});

it("packages that are named are left to npm, others are bundled, and what cannot be is told", async () => {
  // @ts-expect-error only npm knows it
  const { code, install } = await load(async () => import("not-there/deep"), ["not-there@file:/x", "@scope/name@1"]);
  expect(code).toContain('import("not-there/deep")');
  expect(install).toMatch(/^npm install .*not-there@file:\/x @scope\/name@1$/);
  // @ts-expect-error there is no such package
  await expect(load(async () => import("really-not-there"))).rejects.toThrow(/Could not resolve "really-not-there".*packages/);
});
