import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ROOT } from "../../support/compile.js";
import { type Block, type Mark, PAGES } from "./pages.js";

/** What `given: <name>` stands for, besides code. */
const GIVENS: Readonly<Record<string, string>> = {
  sandbox: 'await using sandbox = await (await import("@agent-sandbox/sdk")).Sandbox.create();',
  "code sandbox": 'await using sandbox = await (await import("@agent-sandbox/sdk/code-interpreter")).Sandbox.create();',
};

/** The TypeScript of all pages as programs, in a directory that sees the package as a program elsewhere does. */
export interface Programs extends AsyncDisposable {
  readonly files: readonly string[];
  readonly root: string;
  /** The program that a block became. */
  fileOf(block: Block): string;
  /** A name of a file, or a text with such names, with those of the pages instead. */
  toPages(text: string): string;
}

/**
 * Write each block to `pages/<page>/L<line>.ts`, at the lines where it stands in the page, so that errors and stacks name those.
 *
 * A block that begins with a comment such as `// commands.ts` has that name instead, and other blocks of its page may import it.
 */
export async function writePrograms(): Promise<Programs> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), "docs-")));
  await mkdir(path.join(root, "pages/node_modules/@agent-sandbox"), { recursive: true });
  await symlink(ROOT, path.join(root, "pages/node_modules/@agent-sandbox/sdk"));
  await symlink(path.join(ROOT, "node_modules"), path.join(root, "node_modules"));
  await writeFile(path.join(root, "package.json"), '{ "type": "module" }\n');
  const files: string[] = [];
  for (const page of PAGES) {
    const directory = path.join(root, "pages", page.name);
    await mkdir(directory, { recursive: true });
    for (const { rest, body, line } of page.marks.filter(({ name }) => name === "file")) {
      files.push(path.join(directory, rest));
      await writeFile(path.join(directory, rest), `${"\n".repeat(line)}${body}`);
    }
    for (const block of page.blocks.filter(({ language }) => language === "ts")) {
      files.push(fileOf(block));
      await writeFile(fileOf(block), programOf(block));
    }
  }
  return {
    files: files.filter((file) => /\.m?ts$/.test(file)),
    root,
    fileOf,
    toPages: (text) => text.replaceAll(new RegExp(`(?:file://)?${root}/pages/(.+?\\.md)/[^/:\\s]+\\.ts`, "g"), "$1"),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };

  function fileOf(block: Block): string {
    const [, own] = /^\/\/ ([\w-]+\.ts)$/.exec(block.text.split("\n")[0] ?? "") ?? [];
    return path.join(root, "pages", block.page, own ?? `L${block.line - 1}.ts`);
  }
}

function programOf(block: Block): string {
  const lines: string[] = [];
  const put = (text: string, line: number): void => {
    for (const [index, each] of text.split("\n").entries()) lines[line - 1 + index] = each;
  };
  for (const mark of block.marks) if (mark.name === "given") put(givenCode(mark, block), mark.line);
  put(block.text, block.line);
  // Without an import or export it would be a script, whose names all others share.
  return `${Array.from(lines, (line) => line ?? "").join("\n")}\nexport {};\n`;
}

function givenCode({ rest, body, line }: Mark, { page }: Block): string {
  if (rest === "") return `\n${body}`;
  const code = GIVENS[rest] ?? rest;
  if (/^[a-z ]+$/.test(code)) throw new Error(`${page}:${line}: nothing is called "${rest}"; there are ${Object.keys(GIVENS).join(", ")}`);
  return body === "" ? code : `${code}\n${body}`;
}
