import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { compile, ROOT } from "../support/compile.js";
import { installPacked, type Project } from "./support/installed.js";

/** Every public entry, as what stands behind the name of the package. */
const ENTRIES = Object.keys(packageJson.exports)
  .filter((name) => name !== "./package.json")
  .map((name) => name.slice(1));
/** Entries around packages of the user, and these packages: they are not in the project. */
const OPTIONAL: Record<string, readonly string[]> = {
  "/mcp": ["@modelcontextprotocol/sdk"],
  "/ai-sdk": ["ai'", "@ai-sdk/"],
  "/langchain": ["@langchain/core/", "deepagents"],
  "/mastra": ["@mastra/core/"],
  "/openai-agents": ["@openai/agents-core"],
  "/telemetry": ["@opentelemetry/api"],
};
/** Uses the version as every request does, and what is in files of its own. */
const USE = `
  const sandbox = Sandbox.connect("id", { apiUrl: "http://127.0.0.1:9", apiKey: "k", retries: 0 });
  sandbox.catch((error) => console.log(error.name, typeof Template().toString));`;

let project: Project;
beforeAll(async () => {
  project = await installPacked();
});
afterAll(() => project[Symbol.asyncDispose]());

/** What a program prints when it is run from another directory, with warnings of Node. */
function run(args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: tmpdir(), encoding: "utf8", env: { PATH: process.env.PATH } });
  return `${stdout}${stderr}`.trim();
}

describe("the packed package", () => {
  it("BUN-08: has only what is meant to be in it", () => {
    expect(
      project.files.filter((file) => !/^(dist|openapi|proto)\/.+\.(m?js|cjs|d\.ts|d\.cts|ya?ml|proto|md|py)$/.test(file)).sort(),
    ).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "SKILL.md", "package.json"]);
  });

  it("BUN-08: works from another directory without a warning", async () => {
    const file = await project.write("plain.mjs", `import { Sandbox, Template } from "@agent-sandbox/sdk";${USE}`);
    expect(run([file])).toBe("ConnectionError function");
  });

  it("BUN-08: works from a store that is linked to", async () => {
    await using linked = await installPacked("store");
    const file = await linked.write("linked.mjs", `import { Sandbox, Template } from "@agent-sandbox/sdk";${USE}`);
    expect(run([file])).toBe("ConnectionError function");
    const abx = path.join(linked.directory, "node_modules/@agent-sandbox/sdk/dist/cli/abx.js");
    expect(run([abx, "--version"])).toBe(packageJson.version);
  });

  it("BUN-08: works as one file, where the package is no longer", async () => {
    await using elsewhere = await installPacked();
    const entry = await elsewhere.write("bundled.mjs", `import { Sandbox, Template } from "@agent-sandbox/sdk";${USE}`);
    const outfile = path.join(project.directory, "one-file.mjs");
    await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", external: ["ws"], logLevel: "silent" });
    expect(run([outfile])).toBe("ConnectionError function");
  });
});

describe("module systems", () => {
  it("TYP-05: require() gives the same classes as import, without a warning", async () => {
    const names = ENTRIES.filter((entry) => !(entry in OPTIONAL)).map((entry) => `"@agent-sandbox/sdk${entry}"`);
    const file = await project.write(
      "common.cjs",
      `const names = [${names.join(", ")}];
      const required = names.map((name) => require(name));
      Promise.all(names.map((name) => import(name))).then((imported) => {
        const differing = names.filter((_, i) => Object.keys(imported[i]).some((key) => required[i][key] !== imported[i][key]));
        console.log(differing.length, typeof required[0].Sandbox.create);
      });`,
    );
    expect(run([file])).toBe("0 function");
  });

  const program = (entry: string) =>
    `import * as sdk from "@agent-sandbox/sdk${entry}"; export const names: string[] = Object.keys(sdk);\n`;
  const { ModuleKind, ModuleResolutionKind } = ts;
  const MODES: Record<string, { readonly extension: string; readonly options: ts.CompilerOptions }> = {
    node10: { extension: "ts", options: { module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10 } },
    "node16, CommonJS": { extension: "cts", options: { module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16 } },
    "node16, ESM": { extension: "mts", options: { module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16 } },
    "nodenext, CommonJS": { extension: "cts", options: { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext } },
    "nodenext, ESM": { extension: "mts", options: { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext } },
    bundler: { extension: "ts", options: { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler } },
  };

  it.each(Object.keys(MODES))("TYP-05: tsc finds the types of every entry with moduleResolution %s", async (mode) => {
    const { extension = "ts", options = {} } = MODES[mode] ?? {};
    const files = await Promise.all(
      ENTRIES.map((entry) => project.write(`types${entry.replace("/", "-")}-${mode.replace(/\W/g, "")}.${extension}`, program(entry))),
    );
    const { errors, program: compiled } = compile(files, {
      ...options,
      skipLibCheck: false,
      typeRoots: [path.join(ROOT, "node_modules/@types")],
    });
    const optional = Object.values(OPTIONAL).flat();
    expect(errors.filter((error) => !optional.some((name) => error.includes(`Cannot find module '${name}`)))).toEqual([]);
    // A CommonJS program must get the types of the CommonJS file, or tsc refuses the import elsewhere.
    const types = compiled
      .getSourceFiles()
      .filter(({ fileName }) => /@agent-sandbox\/sdk\/dist\/(?:.*index|code-interpreter)\.d\.c?ts$/.test(fileName));
    expect(types.length).toBeGreaterThanOrEqual(ENTRIES.length);
    const isCommon = mode.endsWith("CommonJS");
    expect(types.every(({ fileName }) => fileName.endsWith(".d.cts") === isCommon)).toBe(true);
  });
});
