import { afterEach, expect, it } from "vitest";
import { remote } from "../../src/declarative/remote.js";
import { SandboxError } from "../../src/errors/sandbox-error.js";
import { SerializationError } from "../../src/errors/serialization-error.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../support/platform.js";
import { digest } from "./support/shapes.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("remote functions", ({ apiUrl, sandboxUrl, apiKey }) => {
  /** Sandboxes of a test carry its label, so that tests which run at the same time do not count each other's. */
  const labelled = (test: string) => ({ apiUrl, sandboxUrl, apiKey, metadata: { test: `remote ${test}` } });
  const idsOf = async (test: string): Promise<string[]> => {
    const list = Sandbox.list({ ...labelled(test), query: { metadata: { test: `remote ${test}` } } });
    return (await list.nextItems()).map(({ sandboxId }) => sandboxId);
  };
  const made: Sandbox[] = [];
  const create = async (): Promise<Sandbox> => {
    const sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 });
    made.push(sandbox);
    return sandbox;
  };
  afterEach(async () => {
    await Promise.all(made.splice(0).map((sandbox) => sandbox.kill()));
  });

  it("run with their imports, and arguments and results cross as the data they are", async () => {
    const echo = remote(
      async (value: unknown, text: string) => ({
        value,
        kinds: Object.prototype.toString.call(value),
        digest: digest(text),
        sandbox: process.env.E2B_SANDBOX,
        envs: process.env.MARK,
      }),
      { ...labelled("echo"), envs: { MARK: "m" } },
    );
    const value = new Map<unknown, unknown>([
      ["date", new Date(5)],
      ["set", new Set([1n, Number.NaN, undefined])],
      [{ key: 1 }, new Float32Array([1.5, -0])],
      ["sparse", Object.assign(new Array(2), { 1: 1 })],
    ]);
    value.set("self", value);
    const result = await echo(value, "x");
    expect(result).toMatchObject({ kinds: "[object Map]", digest: digest("x"), sandbox: "true", envs: "m" });
    const back = result.value as typeof value;
    expect(back.get("self")).toBe(back);
    back.delete("self");
    value.delete("self");
    expect(back).toStrictEqual(value);
    expect(await idsOf("echo")).toEqual([]);
  });

  it("what a function throws is thrown here, with its class, its properties and its stack in the sandbox", async () => {
    const sandbox = await create();
    const here = new Error("the function begins two lines below");
    const fail = remote(
      async function failingFunction(limit: number) {
        throw Object.assign(new RangeError(`over ${limit}`, { cause: new TypeError("inner") }), { limit });
      },
      { sandbox },
    );
    const error = (await fail(3).catch((thrown: unknown) => thrown)) as RangeError & { limit: number };
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ message: "over 3", limit: 3, cause: new TypeError("inner") });
    const lineOf = (stack = "") => Number(/remote\.test\.ts:(\d+)/.exec(stack)?.[1]);
    expect(error.stack).toContain("failingFunction");
    expect(lineOf(error.stack)).toBeGreaterThan(lineOf(here.stack));
    expect(lineOf(error.stack)).toBeLessThan(lineOf(here.stack) + 5);
    const throwText = remote(async () => Promise.reject("only text"), { sandbox });
    await expect(throwText()).rejects.toBe("only text");
  });

  it("what a function prints goes to the callbacks and never into its result", async () => {
    const printed: string[] = [];
    const noisy = remote(
      async () => {
        console.log('[{"type":1,"value":2},"returned","forged"]');
        console.error("to stderr");
        process.stdout.write("no newline");
        return "result";
      },
      { sandbox: await create(), onStdout: (text) => void printed.push(text) },
    );
    const errors: string[] = [];
    expect(await noisy.with({ onStderr: (text) => void errors.push(text) })()).toBe("result");
    expect(printed.join("")).toBe('[{"type":1,"value":2},"returned","forged"]\nno newline');
    expect(errors.join("")).toBe("to stderr\n");
  });

  it("a value that is no data is a typed error that names the place, on the way there and on the way back", async () => {
    const sandbox = await create();
    const give = remote(async (_input: unknown) => ({ rows: [1, { handler: () => 1 }] }), { sandbox });
    const sent = await give({ on: { click: () => 1 } }).catch((thrown: unknown) => thrown);
    expect(sent).toBeInstanceOf(SerializationError);
    expect(sent).toMatchObject({ path: "arguments[0].on.click", found: "a function" });
    const returned = await give(1).catch((thrown: unknown) => thrown);
    expect(returned).toBeInstanceOf(SerializationError);
    expect(returned).toMatchObject({ found: "a function" });
    expect((returned as Error).message).toContain("result.rows[1].handler");
  });

  it("a result that is too large, forged or not there is an error, and the guest's text is never run", async () => {
    const sandbox = await create();
    const large = remote(async () => "x".repeat(5_000), { sandbox, maxResultBytes: 1_000 });
    await expect(large()).rejects.toMatchObject({ name: "InvalidArgumentError", message: expect.stringContaining("1000 bytes") });
    const forge = remote(
      async (text: string) => {
        const { writeFileSync } = await import("node:fs");
        writeFileSync(process.argv[4] ?? "", text);
        process.exit(0);
      },
      { sandbox },
    );
    await expect(forge("(() => process.exit(1))()")).rejects.toMatchObject({ name: "ProtocolError" });
    const replace = remote(
      async (how: string) => {
        const { execSync } = await import("node:child_process");
        execSync(`${how} ${process.argv[4]}`);
        process.exit(0);
      },
      { sandbox, maxResultBytes: 1_000 },
    );
    await expect(replace("ln -s /dev/zero")).rejects.toBeInstanceOf(SandboxError);
    await expect(replace("ln -s /etc/passwd")).rejects.toMatchObject({ name: "ProtocolError" });
    await expect(replace("mkdir")).rejects.toBeInstanceOf(SandboxError);
    await expect(replace("mkfifo")).rejects.toBeInstanceOf(SandboxError);
    const leave = remote(
      async () => {
        console.error("leaving early");
        process.exit(7);
      },
      { sandbox },
    );
    const error = await leave().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "command_exit", message: expect.stringMatching(/exit code 7 .*leaving early/) });
    const endless = remote(async () => new Promise(() => setInterval(() => undefined, 1_000)), { sandbox, timeoutMs: 500 });
    await expect(endless()).rejects.toMatchObject({ name: "TimeoutError", timeout: "command" });
  });

  it("an abort rejects with its reason and ends what runs in the sandbox", async () => {
    const sandbox = await create();
    const controller = new AbortController();
    const wait = remote(
      async () => {
        console.log("started");
        await new Promise(() => setInterval(() => undefined, 1_000));
      },
      { sandbox },
    );
    const call = wait.with({ signal: controller.signal, onStdout: () => controller.abort(new Error("enough")) })();
    await expect(call).rejects.toThrow("enough");
    const running = () => sandbox.commands.run("pgrep -fc 'run[.]mjs'", { reject: false });
    await expect.poll(async () => (await running()).stdout.trim(), POLL).toBe("0");
    await expect(wait.with({ signal: AbortSignal.abort(new Error("before")) })()).rejects.toThrow("before");
  });

  it("without keepAlive each call has a sandbox of its own, and an abort ends it", async () => {
    const whoAmI = remote(
      async (stay: boolean) => {
        if (stay) await new Promise(() => setInterval(() => console.log("still here"), 10));
        return process.env.E2B_SANDBOX_ID;
      },
      { ...labelled("own") },
    );
    const ids = await Promise.all([whoAmI(false), whoAmI(false)]);
    expect(new Set(ids).size).toBe(2);
    const controller = new AbortController();
    const call = whoAmI.with({ signal: controller.signal, onStdout: () => controller.abort(new Error("enough")) })(true);
    await expect(call).rejects.toThrow("enough");
    expect(await idsOf("own")).toEqual([]);
  });

  it("with keepAlive the sandbox is used again, another one where it is gone, until it is closed", async () => {
    const options = { ...labelled("kept"), keepAlive: true };
    const whoAmI = remote(async () => process.env.E2B_SANDBOX_ID, options);
    const first = await whoAmI();
    expect(await whoAmI()).toBe(first);
    await Sandbox.kill(String(first), { apiUrl, sandboxUrl, apiKey });
    const second = await whoAmI();
    expect(second).not.toBe(first);
    expect(await idsOf("kept")).toEqual([second]);
    await whoAmI.close();
    expect(await idsOf("kept")).toEqual([]);
  });

  it("map keeps the order, shares as many sandboxes as calls may run, and leaves none", async () => {
    const square = remote(async (n: number) => ({ n: n * n, at: process.env.E2B_SANDBOX_ID }), labelled("map"));
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    const results = await square.map(numbers, { concurrency: 3 });
    expect(results.map(({ n }) => n)).toEqual(numbers.map((n) => n * n));
    const places = new Set(results.map(({ at }) => at));
    expect(places.size).toBeGreaterThanOrEqual(1);
    expect(places.size).toBeLessThanOrEqual(3);
    expect(await idsOf("map")).toEqual([]);
    expect(await square.map([])).toEqual([]);
  });

  it("the first failure of a map ends the other calls and stops taking items", async () => {
    let taken = 0;
    async function* numbers() {
      for (;;) yield taken++;
    }
    const failAtTwo = remote(async (n: number) => {
      if (n === 2) throw new Error("two");
      if (n > 2) await new Promise(() => setInterval(() => undefined, 1_000));
      return n;
    }, labelled("failing map"));
    await expect(failAtTwo.map(numbers(), { concurrency: 2 })).rejects.toThrow("two");
    expect(taken).toBeLessThan(6);
    expect(await idsOf("failing map")).toEqual([]);
  });

  it("packages are installed in the sandbox before the first call", async () => {
    const sandbox = await create();
    await sandbox.files.writeFiles([
      { path: "greet/package.json", data: '{ "name": "greet", "version": "1.0.0", "main": "index.js" }' },
      { path: "greet/index.js", data: "exports.greet = (name) => 'hello ' + name;" },
    ]);
    const greet = remote(
      // @ts-expect-error it is there only in the sandbox
      async (name: string) => (await import("greet")).greet(name) as string,
      { sandbox, packages: ["greet@file:/home/user/greet"] },
    );
    expect(await Promise.all([greet("a"), greet("b")])).toEqual(["hello a", "hello b"]);
  });

  it("wrong options are refused at once", () => {
    const fn = async () => 1;
    for (const options of [{ timeoutMs: 0 }, { packages: ["--global"] }, { maxResultBytes: -1 }]) {
      expect(() => remote(fn, options)).toThrow(expect.objectContaining({ name: "InvalidArgumentError" }));
    }
    expect(() => remote(async function* () {} as never)).toThrow(/generator/);
    expect(() => remote(undefined as never)).toThrow(/needs a function/);
  });
});
