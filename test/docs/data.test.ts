// Blocks of other languages than TypeScript and shell are read by what reads them in use.
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { readTemplateYaml } from "../../src/cli/template-yaml.js";
import { Template } from "../../src/index.js";
import { type Block, PAGES } from "./support/pages.js";

const READERS: Readonly<Record<string, (block: Block) => unknown>> = {
  json: ({ text }) => JSON.parse(text),
  yaml: readYaml,
  dockerfile: ({ text }) => Template().fromDockerfile(text),
  python: ({ text }) => execFileSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: text, stdio: "pipe" }),
};
/** What has tests of its own, pictures, and what a program prints. */
const OTHERS = ["ts", "sh", "mermaid", "", "text"];
const BLOCKS = PAGES.flatMap(({ blocks }) => blocks);

describe("the blocks of the pages", () => {
  it.each(BLOCKS.filter(({ language }) => language in READERS).map((block) => [block.place, block.language, block] as const))(
    "%s is %s",
    async (_place, language, block) => {
      await READERS[language]?.(block);
    },
  );

  it("have a language that is checked, or none", () => {
    const unknown = BLOCKS.filter(({ language }) => !(language in READERS) && !OTHERS.includes(language));
    expect(unknown.map(({ place, language }) => `${place}: ${language}`)).toEqual([]);
  });

  it("without a language hold neither commands nor code, which would be checked nowhere", () => {
    const plain = BLOCKS.filter(({ language }) => language === "" || language === "text");
    expect(
      plain.filter(({ text }) => /^(abx|make|npm|npx|sudo|\$|import|export|const|await) /m.test(text)).map(({ place }) => place),
    ).toEqual([]);
  });
});

/** YAML; what calls itself template.yaml in its first line has the fields of one. */
async function readYaml({ text }: Block): Promise<void> {
  expect(parseDocument(text).errors).toEqual([]);
  if (!text.startsWith("# template.yaml\n")) return;
  const directory = await mkdtemp(path.join(tmpdir(), "docs-yaml-"));
  try {
    await writeFile(path.join(directory, "template.yaml"), text);
    readTemplateYaml(path.join(directory, "template.yaml"));
  } finally {
    await rm(directory, { recursive: true });
  }
}
