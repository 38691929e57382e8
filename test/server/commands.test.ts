import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { command, defineCommands } from "../../src/server/define-commands.js";
import { readEvents, startTestServer } from "./support/test-server.js";

const commands = defineCommands({
  hello: command({
    description: "Greets somebody.",
    args: { name: "string", times: { type: "integer", default: 1, description: "How often." } },
    run: ({ name, times }) => `Hello, ${name}!`.repeat(times),
  }),
  kinds: command({
    args: {
      flag: "boolean",
      ratio: { type: "float", required: false },
    },
    run: ({ flag, ratio }) => ({ flag, ratio: ratio ?? null, type: typeof flag }),
  }),
  nothing: command({ run: () => undefined }),
  _secret: command({ isHidden: true, run: () => 42 }),
  fails: command({
    run: () => {
      throw new RangeError("out of cheese");
    },
  }),
  cyclic: command({
    run: () => {
      const value: { self?: unknown } = {};
      value.self = value;
      return value;
    },
  }),
  count: command({
    args: { to: "integer" },
    async *run({ to }) {
      for (let step = 1; step <= to; step += 1) yield { step };
      return to;
    },
  }),
  failsLate: command({
    async *run() {
      yield "began";
      throw new TypeError("broke");
    },
  }),
});

describe("named commands", () => {
  test("are listed with their arguments, and hidden ones are not", async () => {
    await using server = await startTestServer(commands);
    const { status, body } = await server.call("GET", "/commands");
    expect(status).toBe(200);
    expect(body.commands.map(({ name }: { name: string }) => name)).toEqual(Object.keys(commands).filter((name) => name !== "_secret"));
    expect(body.commands[0]).toEqual({
      name: "hello",
      description: "Greets somebody.",
      args: [
        { name: "name", type: "string", required: true, default: null, description: "" },
        { name: "times", type: "integer", required: false, default: 1, description: "How often." },
      ],
    });
  });

  test("run with their arguments, and answer with their result", async () => {
    await using server = await startTestServer(commands);
    expect(await server.call("POST", "/commands/hello", { name: "Ada" })).toMatchObject({ status: 200, body: { result: "Hello, Ada!" } });
    expect(await server.call("POST", "/commands/hello/", { name: "Ada", times: "2" })).toMatchObject({
      body: { result: "Hello, Ada!Hello, Ada!" },
    });
    expect((await server.call("POST", "/commands/nothing")).body).toEqual({ result: null });
    expect((await server.call("POST", "/commands/_secret")).body).toEqual({ result: 42 });
    expect((await server.call("POST", "/commands/count", { to: 3 })).body).toEqual({ result: 3 });
  });

  test.each([
    [true, true],
    ["YES", true],
    ["1", true],
    [0, false],
    ["no", false],
  ])("take %j for the boolean %j", async (sent, meant) => {
    await using server = await startTestServer(commands);
    expect((await server.call("POST", "/commands/kinds", { flag: sent })).body.result).toEqual({
      flag: meant,
      ratio: null,
      type: "boolean",
    });
  });

  test("refuse an unknown name and say what there is", async () => {
    await using server = await startTestServer(commands);
    const { status, body } = await server.call("POST", "/commands/helo", { name: "Ada" });
    expect(status).toBe(404);
    expect(body).toMatchObject({ type: "ValueError", error_code: "not_found" });
    expect(body.error).toMatch(/^Unknown command 'helo'; available: hello, kinds/);
    expect(body.available).toContain("hello");
    expect(body.available).not.toContain("_secret");
    for (const name of ["__proto__", "constructor", "toString"]) expect((await server.call("POST", `/commands/${name}`)).status).toBe(404);
  });

  test.each([
    [{}, "name", "is missing", "ValueError"],
    [{ name: 1 }, "name", "must be of type string, not 1", "TypeError"],
    [{ name: "Ada", age: 3 }, "age", "is not known", "ValueError"],
    [{ name: "Ada", times: 1.5 }, "times", "must be of type integer", "TypeError"],
    [{ name: "Ada", times: "many" }, "times", "must be of type integer", "TypeError"],
  ])("refuse the arguments %j and say what they take", async (sent, argument, problem, type) => {
    await using server = await startTestServer(commands);
    const { status, body } = await server.call("POST", "/commands/hello", sent);
    expect(status).toBe(400);
    expect(body).toMatchObject({ type, argument, args: [{ name: "name" }, { name: "times" }] });
    expect(body.error).toContain(problem);
  });

  test("answer with the name of the exception when they fail", async () => {
    await using server = await startTestServer(commands);
    expect(await server.call("POST", "/commands/fails")).toMatchObject({
      status: 500,
      body: { error: "out of cheese", type: "RangeError" },
    });
    expect(await server.call("POST", "/commands/cyclic")).toMatchObject({ status: 500, body: { type: "TypeError" } });
  });

  test("stream their progress to who asks for it", async () => {
    await using server = await startTestServer(commands);
    const stream = (name: string, body: object) =>
      fetch(`${server.url}/commands/${name}`, { method: "POST", headers: { accept: "text/event-stream" }, body: JSON.stringify(body) });
    expect(await readEvents(await stream("count", { to: 2 }))).toEqual([
      { event: "progress", data: { data: { step: 1 } } },
      { event: "progress", data: { data: { step: 2 } } },
      { event: "result", data: { result: 2 } },
    ]);
    expect(await readEvents(await stream("failsLate", {}))).toMatchObject([
      { event: "progress", data: { data: "began" } },
      { event: "error", data: { error: "broke", type: "TypeError", status: 500 } },
    ]);
    expect(await readEvents(await stream("nowhere", {}))).toMatchObject([{ event: "error", data: { status: 404, type: "ValueError" } }]);
  });

  test("are told when their caller leaves, and a generator is ended", async () => {
    let onBegin = () => {};
    const begun = new Promise<void>((resolve) => {
      onBegin = resolve;
    });
    let onEnd = (_how: string) => {};
    const ended = new Promise<string>((resolve) => {
      onEnd = resolve;
    });
    await using server = await startTestServer({
      forever: command({
        async *run(_args, { signal }) {
          try {
            yield "began";
            onBegin();
            await once(signal, "abort");
          } finally {
            onEnd(signal.aborted ? "aborted" : "not aborted");
          }
        },
      }),
    });
    const call = request(`${server.url}/commands/forever`, { method: "POST", headers: { accept: "text/event-stream" } });
    call.on("error", () => {});
    call.on("response", (response) => response.resume());
    call.end();
    await begun;
    call.destroy();
    expect(await ended).toBe("aborted");
  });
});

describe("custom commands of template.yaml", () => {
  const HOSTILE = `'; touch /tmp/pwned-by-argument #$(id)"\`id\`\n-rf *`;

  async function withCustom(customCommands: object) {
    const directory = await mkdtemp(join(tmpdir(), "custom-commands-"));
    const file = join(directory, "commands.json");
    await writeFile(file, JSON.stringify({ custom_commands: customCommands }));
    const server = await startTestServer(commands, { customCommandsFile: file }).catch(async (error: unknown) => {
      await rm(directory, { recursive: true });
      throw error;
    });
    return {
      ...server,
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]();
        await rm(directory, { recursive: true });
      },
    };
  }

  test("run any program, and are listed before those of the program", async () => {
    await using server = await withCustom({
      hello: { cmd: "printf '%s|' hello {name}", description: "From the template.", args: [{ name: "name", required: true }] },
      where: { cmd: "pwd; echo $COLOUR; exit 3", cwd: "/tmp", env: { COLOUR: "blue" } },
    });
    const { body } = await server.call("GET", "/commands");
    expect(body.commands.slice(0, 2)).toEqual([
      {
        name: "hello",
        description: "From the template.",
        args: [{ name: "name", type: "string", required: true, default: null, description: "" }],
      },
      { name: "where", description: "", args: [] },
    ]);
    expect((await server.call("POST", "/commands/hello", { name: "Ada" })).body.result).toEqual({
      stdout: "hello|Ada|",
      stderr: "",
      exit_code: 0,
    });
    expect((await server.call("POST", "/commands/where")).body.result).toEqual({ stdout: "/tmp\nblue\n", stderr: "", exit_code: 3 });
    expect((await server.call("POST", "/commands/hello", {})).status).toBe(400);
  });

  test("get values as single words, whatever is in them", async () => {
    await using server = await withCustom({
      show: {
        cmd: 'printf "[%s]" {first} --flag={second} {absent} {preset}',
        args: [{ name: "first" }, { name: "second" }, { name: "absent" }, { name: "preset", type: "integer", default: 7 }],
      },
    });
    const { body } = await server.call("POST", "/commands/show", { first: HOSTILE, second: "a b" });
    expect(body.result.stdout).toBe(`[${HOSTILE}][--flag=a b][7]`);
    expect((await server.call("POST", "/commands/show", { first: "", second: "x" })).body.result.stdout).toBe("[][--flag=x][7]");
  });

  test("are killed when their time is over", async () => {
    await using server = await withCustom({ slow: { cmd: "exec sleep 60", timeout: 0.2 } });
    expect(await server.call("POST", "/commands/slow")).toMatchObject({ status: 500, body: { type: "TimeoutError" } });
  });

  test.each([
    [{ a: { cmd: "echo '{x}'", args: [{ name: "x" }] } }, "stands in quotes"],
    [{ a: { cmd: 'sh -c "echo {x}"', args: [{ name: "x" }] } }, "stands in quotes"],
    [{ a: { cmd: "echo {y}", args: [{ name: "x" }] } }, "is no argument"],
    [{ a: {} }, "cmd is required"],
    [{ "a/b": { cmd: "true" } }, "a name has letters"],
    [{ a: { cmd: "true", args: [{ name: "x", type: "list" }] } }, "must have one of string"],
    [{ a: { cmd: "true", timeout: -1 } }, "timeout must be"],
    [{ a: { cmd: "true", shell: true } }, "unknown field shell"],
  ])("are refused at the start when they cannot be run: %j", async (customCommands, problem) => {
    await expect(withCustom(customCommands)).rejects.toThrow(problem);
  });

  test("keep braces that are no placeholders", async () => {
    await using server = await withCustom({ braces: { cmd: `HERE=1; echo $\{HERE} {a,b} 'x{print}'`, args: [] } });
    expect((await server.call("POST", "/commands/braces")).body.result.stdout).toBe("1 a b x{print}\n");
  });
});

describe("definitions", () => {
  test("are refused when a name or a type cannot be", () => {
    expect(() => defineCommands({ "a/b": command({ run: () => 1 }) })).toThrow("a name has letters");
    // @ts-expect-error there is no such type
    expect(() => command({ args: { x: "list" }, run: () => 1 })).toThrow("must have one of string, integer, float, boolean");
    expect(() => command({ args: { x: { type: "integer", default: "many" } }, run: () => 1 })).toThrow("which is no integer");
  });
});
