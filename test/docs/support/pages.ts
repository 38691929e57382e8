import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../../support/compile.js";

/** A fenced block of a page, with the invisible marks that stand right above it. */
export interface Block {
  /** Place of its fence, as `docs/files.md:12`. */
  readonly place: string;
  readonly page: string;
  /** Number of its first line, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly marks: readonly Mark[];
}

/** `<!-- name: rest of the line`, what follows up to `-->`. */
export interface Mark {
  readonly name: string;
  readonly rest: string;
  /** The lines behind the first one. */
  readonly body: string;
  /** Number of its first line, from 1. */
  readonly line: number;
}

export interface Page {
  /** Relative to the repository, as `docs/files.md`. */
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** Marks of the whole page: files beside its snippets, and notes. */
  readonly marks: readonly Mark[];
  /** The text without blocks and comments; lines keep their numbers. */
  readonly prose: readonly string[];
}

const MARK_NAMES = ["given", "not run", "without", "file", "note"];

/** Every page for readers: those of the root and of docs/. A new one is found by itself. */
export const PAGES: readonly Page[] = [
  ...namesIn(".").filter((name) => name.endsWith(".md")),
  ...namesIn("docs").filter((name) => name.endsWith(".md")),
].map((name) => parsePage(name, readFileSync(path.join(ROOT, name), "utf8")));

/** Blocks of all pages in a language. */
export function blocksOf(...languages: readonly string[]): Block[] {
  return PAGES.flatMap(({ blocks }) => blocks).filter(({ language }) => languages.includes(language));
}

/** Why a block cannot run here, from `<!-- not run: reason -->`. */
export function reasonNotToRun(block: Block): string | undefined {
  return block.marks.find(({ name }) => name === "not run")?.rest;
}

/** Read a page. @throws Error where a mark or a fence is malformed, with the place. */
export function parsePage(name: string, text: string): Page {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  const pageMarks: Mark[] = [];
  const prose: string[] = [];
  let waiting: Mark[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = /^( *)(`{3,})(\S*)\s*$/.exec(line);
    if (fence !== null) {
      const end = lines.findIndex((other, index) => index > at && other.trim() === fence[2]);
      if (end === -1) throw new Error(`${name}:${at + 1}: this block has no end`);
      const indent = fence[1]?.length ?? 0;
      blocks.push({
        place: `${name}:${at + 1}`,
        page: name,
        line: at + 2,
        language: fence[3] ?? "",
        text: lines
          .slice(at + 1, end)
          .map((inner) => inner.slice(indent))
          .join("\n"),
        marks: waiting,
      });
      waiting = [];
      for (; at < end; at += 1) prose.push("");
      prose.push("");
      continue;
    }
    if (/^<!--/.test(line)) {
      const end = lines.findIndex((other, index) => index >= at && other.endsWith("-->"));
      if (end === -1) throw new Error(`${name}:${at + 1}: this comment has no end; \`-->\` ends its last line`);
      const mark = parseMark(name, at + 1, lines.slice(at, end + 1));
      if (mark.name === "file" || mark.name === "note") pageMarks.push(mark);
      else waiting.push(mark);
      for (; at < end; at += 1) prose.push("");
      prose.push("");
      continue;
    }
    if (line.trim() !== "" && waiting.length > 0) throw new Error(`${name}:${waiting[0]?.line}: this mark stands above no block`);
    prose.push(line);
  }
  if (waiting.length > 0) throw new Error(`${name}:${waiting[0]?.line}: this mark stands above no block`);
  return { name, text, blocks, marks: pageMarks, prose };
}

function parseMark(page: string, line: number, lines: readonly string[]): Mark {
  const [first = "", ...body] = lines.join("\n").slice("<!--".length, -"-->".length).split("\n");
  const [, name = "", rest = ""] = /^ ([a-z ]+): *(.*?) *$/.exec(first) ?? [];
  if (!MARK_NAMES.includes(name)) throw new Error(`${page}:${line}: a comment begins with one of \`${MARK_NAMES.join(":`, `")}:\``);
  if (name !== "given" && rest === "") throw new Error(`${page}:${line}: \`${name}:\` needs ${name === "file" ? "a name" : "a reason"}`);
  return { name, rest, body: body.join("\n"), line };
}

function namesIn(directory: string): string[] {
  return readdirSync(path.join(ROOT, directory))
    .sort()
    .map((name) => path.join(directory, name));
}
