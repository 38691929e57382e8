import { createContext, Script } from "node:vm";
import { build as buildWithVite, type Rollup } from "vite";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/compile.js";
import { describeOnPlatform } from "../support/platform.js";
import { bundleFor, CONDITIONS } from "./support/bundle.js";

const NEUTRAL = ["@agent-sandbox/sdk", "@agent-sandbox/sdk/e2b", "@agent-sandbox/sdk/agent"];
/** Entries around packages of the user: what they import of them, and nothing else. */
const AROUND_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "@agent-sandbox/sdk/ai-sdk": ["ai"],
  "@agent-sandbox/sdk/langchain": ["@langchain/core/messages", "@langchain/core/singletons", "@langchain/core/tools"],
  "@agent-sandbox/sdk/mastra": ["@mastra/core/tools", "@mastra/core/workspace"],
  "@agent-sandbox/sdk/openai-agents": ["@openai/agents-core", "@openai/agents-core/sandbox"],
  "@agent-sandbox/sdk/telemetry": ["@opentelemetry/api"],
};
const RUNTIMES = Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[];
/** The name of a module of Node, or a call of `require` that is no method. */
const OF_NODE = /["']node:[a-z]|(?<![.#\w] ?)require\(["']/g;
/** What a worker has; in particular neither `process` nor `Buffer` nor `require`. */
const WORKER_GLOBALS = {
  ...{ fetch, URL, URLSearchParams, Headers, Request, Response, Blob, FormData, ReadableStream, TransformStream, TextEncoder, TextDecoder },
  ...{
    AbortController,
    AbortSignal,
    DOMException,
    WebSocket,
    crypto,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    performance,
    queueMicrotask,
    btoa,
    atob,
    console,
  },
  ...{ CompressionStream, DecompressionStream },
};

describe.each(RUNTIMES)("bundled for %s", (runtime) => {
  it.each(NEUTRAL)("BUN-01: %s imports nothing of Node, no ws, and calls no bare require", async (entry) => {
    const { code, imports } = await bundleFor(runtime, `export * from "${entry}";`);
    expect(imports).toEqual([]);
    expect(code.match(OF_NODE)).toBeNull();
  });

  it.each(Object.entries(AROUND_PACKAGES))("BUN-01: %s imports its package and nothing of Node", async (entry, names) => {
    const { code, imports } = await bundleFor(runtime, `export * from "${entry}";`, { external: names });
    expect([...new Set(imports)].sort()).toEqual(names);
    expect(code.match(OF_NODE)).toBeNull();
  });
});

it.each(["browser", "workerd"])("BUN-01: Vite finds no import of Node and no require with the condition %s", async (condition) => {
  const result = await buildWithVite({
    configFile: false,
    logLevel: "silent",
    root: ROOT,
    resolve: { conditions: [condition, "import", "default"] },
    ssr: { noExternal: true, target: "webworker", resolve: { conditions: [condition, "import", "default"] } },
    build: { write: false, ssr: true, minify: false, rollupOptions: { input: "dist/index.js" } },
  });
  // Without a watcher and with one output it is one result.
  const { output } = [result].flat()[0] as Rollup.RolldownOutput;
  const chunks = output.filter((file) => file.type === "chunk");
  expect(chunks.length).toBeGreaterThan(0);
  expect(chunks.flatMap(({ imports }) => imports).filter((name) => !output.some(({ fileName }) => fileName === name))).toEqual([]);
  expect(chunks.flatMap(({ code }) => code.match(OF_NODE) ?? [])).toEqual([]);
});

describeOnPlatform("in runtimes that look like others", (platform) => {
  const FAKES: Record<string, Record<string, unknown>> = {
    "a worker": {},
    "a worker with Node shims": { process: { versions: { node: "22.0.0" }, env: {} }, navigator: { userAgent: "Cloudflare-Workers" } },
    Deno: { Deno: { version: { deno: "2.0.0" } }, process: { versions: { node: "20.0.0", deno: "2.0.0" }, env: {} } },
    Bun: { Bun: { version: "1.3.0" }, process: { versions: { node: "24.0.0", bun: "1.3.0" }, env: {} } },
    "an Electron renderer": {
      window: {},
      document: {},
      process: { versions: { node: "22.0.0", electron: "38.0.0" }, type: "renderer", env: {} },
    },
    "a page with a polyfill of process": { window: {}, document: {}, process: { browser: true, env: {}, nextTick: queueMicrotask } },
    jsdom: { window: { name: "nodejs" }, document: {}, navigator: { userAgent: "jsdom/27.0.0" } },
  };

  it.each(Object.keys(FAKES))("BUN-06: %s reaches a sandbox", async (name) => {
    const program = `import { Sandbox } from "@agent-sandbox/sdk";
      globalThis.run = async (options) => {
        const sandbox = await Sandbox.create(options);
        try {
          await sandbox.files.write("a.txt", "written");
          return (await sandbox.commands.run("cat a.txt")).stdout;
        } finally {
          await sandbox.kill();
        }
      };`;
    const { code } = await bundleFor("browser", program, { format: "iife" });
    const context = createContext({ ...WORKER_GLOBALS, ...FAKES[name] });
    new Script(code).runInContext(context);
    const { run } = context as { run(options: object): Promise<string> };
    const { apiUrl, sandboxUrl, apiKey } = platform;
    expect(await run({ apiUrl, sandboxUrl, apiKey })).toBe("written");
  });

  it("BUN-06: without a URL and a key a worker is told what to give", async () => {
    const program = `import { Sandbox } from "@agent-sandbox/sdk"; globalThis.run = () => Sandbox.create();`;
    const { code } = await bundleFor("workerd", program, { format: "iife" });
    const context = createContext({ ...WORKER_GLOBALS });
    new Script(code).runInContext(context);
    await expect((context as { run(): Promise<unknown> }).run()).rejects.toMatchObject({
      message: expect.stringMatching(/apiKey/) as string,
    });
  });
});
