import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { defineConfig, type UserConfig } from "tsdown";

/** What package.json's `exports` promise: output path without extension → source file. */
const PUBLIC_ENTRIES: Record<string, string> = {
  index: "src/index.ts",
  "code-interpreter": "src/code-interpreter.ts",
  "node/index": "src/node/index.ts",
  "server/index": "src/server/index.ts",
  "declarative/index": "src/declarative/index.ts",
  "agent/index": "src/agent/index.ts",
  "agent/mcp/index": "src/agent/mcp/index.ts",
  "agent/ai-sdk/index": "src/agent/ai-sdk/index.ts",
  "agent/langchain/index": "src/agent/langchain/index.ts",
  "agent/mastra/index": "src/agent/mastra/index.ts",
  "agent/openai-agents/index": "src/agent/openai-agents/index.ts",
  "compat/e2b/index": "src/compat/e2b/index.ts",
  "fc/index": "src/sandbox/fc/index.ts",
  "telemetry/index": "src/telemetry/index.ts",
  "testing/index": "src/testing/index.ts",
};
/** Beside them what its `imports` promise, and programs. */
const ENTRIES: Record<string, string> = {
  ...PUBLIC_ENTRIES,
  "node/local-platform": "src/node/local-platform.ts",
  "transport/runtime-node": "src/transport/runtime-node.ts",
  "transport/runtime-web": "src/transport/runtime-web.ts",
  "sandbox/no-local-platform": "src/sandbox/no-local-platform.ts",
  "node/template-files": "src/node/template-files.ts",
  "sandbox/no-template-files": "src/sandbox/template/no-template-files.ts",
  "agent/openai-agents/local-sources-node": "src/agent/openai-agents/local-sources-node.ts",
  "agent/openai-agents/no-local-sources": "src/agent/openai-agents/no-local-sources.ts",
  "cli/abx": "src/cli/abx.ts",
  "control/runtime-helper": "src/control/drivers/oci/runtime-helper.ts",
};

const shared = {
  format: "esm",
  platform: "node",
  target: "node22",
  fixedExtension: false,
  outDir: "dist",
  clean: false,
  report: false,
  logLevel: "warn",
  checks: { pluginTimings: false },
} satisfies UserConfig;

export default defineConfig([
  {
    // One build for library, CLI and servers: shared chunks keep one identity per class and one copy on disk. Packages of
    // `dependencies` stay imports; what only servers and the CLI need is a devDependency and gets inlined.
    ...shared,
    name: "code",
    entry: ENTRIES,
    dts: false,
    deps: {
      neverBundle: [/^#/, "playwright-core"],
      alwaysBundle: [/^@bufbuild\/protobuf/, "ignore", "diff"],
      onlyBundle: false,
    },
    outputOptions: { chunkFileNames: "chunks/[name].js" },
    plugins: [ignoreAsModule()],
    hooks: { "build:done": writeCommonJsEntries },
  },
  {
    ...shared,
    name: "types",
    entry: PUBLIC_ENTRIES,
    dts: { emitDtsOnly: true },
    hooks: { "build:done": writeCommonJsTypes },
    deps: { neverBundle: [/^#/] },
  },
  // The command server is written into sandboxes, beside programs that import it; a browser driver is theirs to bring.
  standalone("standalone", "src/server/index.ts", {
    outDir: "dist/server",
    deps: { alwaysBundle: [/^(?!node:|playwright-core$)/], onlyBundle: false },
  }),
  // The daemon is mounted alone into sandboxes, so its one file holds everything.
  standalone("daemon", "src/daemon/main.ts"),
  // The same daemon as the one script from which each machine makes a start-up snapshot for its own Node, and what makes it.
  standalone("snapshot", "src/daemon/snapshot.ts", { format: "cjs" }),
  standalone("build-snapshot", "src/daemon/build-snapshot.ts", { format: "cjs" }),
  // Beside the daemon, what runs Jupyter kernels: programs of the sandbox's own Python, and the one that runs cells in Node.
  standalone("node-kernel", "src/daemon/code/kernels/node/node-kernel.ts", {
    outDir: "dist/daemon/kernels",
    copy: [{ from: "src/daemon/code/kernels/*.py", to: "dist/daemon/kernels" }],
  }),
  // What makes the call of a remote function, sent into the sandbox beside it.
  standalone("run-function", "src/declarative/guest/run-function.ts", { outDir: "dist/declarative" }),
]);

/**
 * `ignore` is CommonJS without a `require`. As a module it needs no helper of the bundler, whose helpers import `node:module`, which a browser
 * does not have.
 */
function ignoreAsModule() {
  return {
    name: "ignore-as-module",
    transform: {
      filter: { id: /\/node_modules\/ignore\/index\.js$/ },
      handler: (code: string) => `const module = { exports: {} };\n${code}\nexport default module.exports;\n`,
    },
  };
}

/** For `require()`: the same modules, so that classes have one identity however they are loaded. Node ≥ 22.13 loads them synchronously. */
async function writeCommonJsEntries(): Promise<void> {
  for (const name of Object.keys(PUBLIC_ENTRIES)) {
    await writeFile(`dist/${name}.cjs`, `module.exports = require("./${path.basename(name)}.js");\n`);
  }
}

/** The same declarations as types of CommonJS modules, which is what TypeScript looks for beside a `.cjs` file. */
async function writeCommonJsTypes(): Promise<void> {
  for (const file of await readdir("dist", { recursive: true })) {
    if (!file.endsWith(".d.ts")) continue;
    const text = await readFile(`dist/${file}`, "utf8");
    await writeFile(`dist/${file.replace(/ts$/, "cts")}`, text.replaceAll(/((?:from|import\() ?"\.{1,2}\/[^"]+)\.js"/g, '$1.cjs"'));
  }
}

function standalone(name: string, entry: string, more: UserConfig = {}): UserConfig {
  const { format = "esm" } = more;
  return {
    ...shared,
    name,
    entry: { [name]: entry },
    outDir: "dist/daemon",
    outExtensions: () => ({ js: format === "esm" ? ".mjs" : ".cjs" }),
    minify: true,
    dts: false,
    deps: { alwaysBundle: [/^(?!node:)/], onlyBundle: false },
    outputOptions: { codeSplitting: false },
    ...more,
  };
}
