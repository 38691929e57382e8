import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { compile, ROOT } from "../../support/compile.js";

/** What a program of a reader has already. */
const GIVEN = `import type { LanguageModel } from "ai";
import type { HarnessAgentAdapter } from "@ai-sdk/harness/agent";
declare const model: LanguageModel;
declare const harness: HarnessAgentAdapter;
`;

it("the programs of docs/ai-sdk.md compile against the package", async () => {
  const page = await readFile(path.join(ROOT, "docs/ai-sdk.md"), "utf8");
  const snippets = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
  expect(snippets).toHaveLength(3);
  const directory = await realpath(await mkdtemp(path.join(tmpdir(), "ai-sdk-page-")));
  try {
    await symlink(path.join(ROOT, "node_modules"), path.join(directory, "node_modules"));
    const files = snippets.map((_, index) => path.join(directory, `${index}.ts`));
    for (const [index, file] of files.entries()) await writeFile(file, `${GIVEN}${snippets[index]}`);
    const entry = (name: string) => [path.join(ROOT, "dist", name, "index.d.ts")];
    const { errors } = compile(files, {
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      skipLibCheck: true,
      typeRoots: [path.join(ROOT, "node_modules/@types")],
      paths: {
        "@agent-sandbox/sdk": entry(""),
        "@agent-sandbox/sdk/agent": entry("agent"),
        "@agent-sandbox/sdk/ai-sdk": entry("agent/ai-sdk"),
      },
    });
    expect(errors).toEqual([]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
