import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { compile, ROOT } from "../support/compile.js";

it("compiles what docs/observability.md shows", () => {
  const text = readFileSync(join(ROOT, "docs/observability.md"), "utf8");
  const snippets = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  expect(snippets.length).toBeGreaterThanOrEqual(3);
  // Inside the repository, so that the package finds itself and its peers.
  const directory = mkdtempSync(join(ROOT, "node_modules/.cache/docs-"));
  try {
    const files = snippets.map((code, index) => {
      const file = join(directory, `snippet-${index}.mts`);
      writeFileSync(file, code);
      return file;
    });
    const { errors } = compile(files, {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      skipLibCheck: true,
    });
    expect(errors).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
