import { defineConfig, type UserConfig } from "tsdown";

/** Output path without extension → source file. The first twelve are names that package.json's `exports` and `imports` promise. */
const ENTRIES: Record<string, string> = {
  index: "src/index.ts",
  "node/index": "src/node/index.ts",
  "node/local-platform": "src/node/local-platform.ts",
  "transport/runtime-node": "src/transport/runtime-node.ts",
  "transport/runtime-web": "src/transport/runtime-web.ts",
  "sandbox/no-local-platform": "src/sandbox/no-local-platform.ts",
  "node/template-files": "src/node/template-files.ts",
  "sandbox/no-template-files": "src/sandbox/template/no-template-files.ts",
  "declarative/index": "src/declarative/index.ts",
  "agent/index": "src/agent/index.ts",
  "agent/mcp/index": "src/agent/mcp/index.ts",
  "testing/index": "src/testing/index.ts",
  "cli/abx": "src/cli/abx.ts",
  "control/runtime-helper": "src/control/drivers/oci/runtime-helper.ts",
};
const TYPED_ENTRIES = {
  index: "src/index.ts",
  "node/index": "src/node/index.ts",
  "declarative/index": "src/declarative/index.ts",
  "agent/index": "src/agent/index.ts",
  "agent/mcp/index": "src/agent/mcp/index.ts",
  "testing/index": "src/testing/index.ts",
};

const EAGER_IMPORT = 'import { createRequire } from "node:module";\n';
const EAGER_REQUIRE = "/* @__PURE__ */ createRequire(import.meta.url)";
/** Bundled CommonJS asks for Node's modules when it runs, not at import: the chunk with the bundler's runtime is one of the neutral root entry's. */
const lazyRequire = {
  name: "lazy-require",
  renderChunk: (code: string): string | null =>
    code.includes(EAGER_REQUIRE)
      ? code
          .replace(EAGER_IMPORT, "")
          .replace(EAGER_REQUIRE, '(id) => process.getBuiltinModule("node:module").createRequire(import.meta.url)(id)')
      : null,
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
    plugins: [lazyRequire],
    dts: false,
    deps: { neverBundle: [/^#/], alwaysBundle: [/^@bufbuild\/protobuf/, "openapi-fetch", "ignore", "diff"], onlyBundle: false },
    outputOptions: { chunkFileNames: "chunks/[name].js" },
  },
  {
    ...shared,
    name: "types",
    entry: TYPED_ENTRIES,
    dts: { emitDtsOnly: true },
    deps: { neverBundle: [/^#/] },
  },
  // The daemon is mounted alone into sandboxes, so its one file holds everything.
  standalone("daemon", "src/daemon/main.ts", "esm"),
  // The same daemon as the one script from which each machine makes a start-up snapshot for its own Node, and what makes it.
  standalone("snapshot", "src/daemon/snapshot.ts", "cjs"),
  standalone("build-snapshot", "src/daemon/build-snapshot.ts", "cjs"),
  // What makes the call of a remote function, sent into the sandbox beside it.
  standalone("run-function", "src/declarative/guest/run-function.ts", "esm", "dist/declarative"),
]);

function standalone(name: string, entry: string, format: "esm" | "cjs", outDir = "dist/daemon"): UserConfig {
  return {
    ...shared,
    name,
    entry: { [name]: entry },
    format,
    outDir,
    outExtensions: () => ({ js: format === "esm" ? ".mjs" : ".cjs" }),
    minify: true,
    dts: false,
    deps: { alwaysBundle: [/^(?!node:)/], onlyBundle: false },
    outputOptions: { codeSplitting: false },
  };
}
