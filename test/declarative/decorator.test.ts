import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { transform } from "esbuild";
import ts from "typescript";
import { expect, it } from "vitest";
import { describeOnPlatform } from "../support/platform.js";

const SOURCE = fileURLToPath(new URL("support/decorated.ts", import.meta.url));
const SUPPORT = fileURLToPath(new URL("support", import.meta.url));

/** What compilers make of the file: code with its source map in it. */
const COMPILERS = {
  esbuild: async (text: string) =>
    (await transform(text, { loader: "ts", target: "es2022", sourcefile: SOURCE, sourcemap: "inline", format: "esm" })).code,
  tsc: async (text: string) => {
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, inlineSourceMap: true };
    return ts.transpileModule(text, { fileName: SOURCE, compilerOptions }).outputText;
  },
};

describeOnPlatform("@sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  it.each([
    ["esbuild", "its source map"],
    ["esbuild", "no source map"],
    ["tsc", "no source map"],
  ] as const)("runs methods in a sandbox, as %s compiles them and with %s", async (compiler, maps) => {
    // Beside the file, so that its imports mean the same.
    const directory = `${SUPPORT}/.compiled-${randomUUID()}`;
    await mkdir(directory);
    try {
      const code = await COMPILERS[compiler](await readFile(SOURCE, "utf8"));
      await writeFile(`${directory}/decorated.mjs`, code.replaceAll("./shapes.js", "../shapes.ts"));
      const flags = maps === "its source map" ? ["--enable-source-maps"] : [];
      const env = { ...process.env, AGENT_SANDBOX_API_URL: apiUrl, AGENT_SANDBOX_SANDBOX_URL: sandboxUrl, AGENT_SANDBOX_API_KEY: apiKey };
      const { stdout } = await promisify(execFile)(process.execPath, [...flags, `${directory}/decorated.mjs`], { env });
      expect(JSON.parse(stdout)).toEqual({
        area: Math.PI,
        isElsewhere: true,
        mark: "static",
        refusal: expect.stringContaining("`this`"),
        other: "not this one",
      });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
