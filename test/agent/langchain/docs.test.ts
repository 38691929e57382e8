import { readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { installPacked } from "../../bundle/support/installed.js";
import { compile, ROOT } from "../../support/compile.js";

// Checking the declarations of the frameworks takes most of a minute on a busy machine.
const TIMEOUT_MS = 600_000;

it("the programs of docs/langchain.md compile against the package and the frameworks", { timeout: TIMEOUT_MS }, async () => {
  await using project = await installPacked("flat", ["deepagents", "langchain", "@langchain"]);
  const text = await readFile(path.join(ROOT, "docs/langchain.md"), "utf8");
  const programs = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = ""]) => program);
  expect(programs.length).toBe(3);
  const files = await Promise.all(programs.map((program, at) => project.write(`program-${at}.mts`, program)));
  const { ModuleKind, ModuleResolutionKind } = ts;
  const options = { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext, skipLibCheck: true };
  expect(compile(files, { ...options, typeRoots: [path.join(ROOT, "node_modules/@types")] }).errors).toEqual([]);
});
