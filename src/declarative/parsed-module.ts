import { readFile } from "node:fs/promises";
import { SourceMap, type SourceMapPayload } from "node:module";
import path from "node:path";
import { type Node as AcornNode, parse } from "acorn";
import type { Loader } from "esbuild";
import { analyze, type Scope, type ScopeManager } from "eslint-scope";
import type { Node as EstreeNode, Program } from "estree";
import { loadEsbuild } from "./esbuild.js";

/** A node of the syntax tree with its place in the text. */
export type SyntaxNode = EstreeNode & { readonly start: number; readonly end: number };

/** A module without types, and what is known of it. */
export interface ParsedModule {
  readonly text: string;
  readonly program: Program & SyntaxNode;
  readonly scopes: ScopeManager;
  /** The file it came from; absent for the text of a function alone. */
  readonly file?: string;
  /** Line and column, from 1, at which a place of `text` stands in the file. */
  readonly positionOf: (offset: number) => { readonly line: number; readonly column: number } | undefined;
}

const LOADERS: Readonly<Record<string, Loader>> = { ".ts": "ts", ".mts": "ts", ".cts": "ts", ".tsx": "tsx", ".jsx": "jsx" };

/** Read a module of JavaScript or TypeScript. @throws `Error` it cannot be read or has a syntax error. */
export async function parseModuleFile(file: string): Promise<ParsedModule> {
  const { transform } = await loadEsbuild();
  // A map of the file to what it was made from would lead away from the positions of this file.
  const text = (await readFile(file, "utf8")).replaceAll(/^\/\/[#@] sourceMappingURL=.*$/gm, "");
  const { code, map } = await transform(text, {
    sourcefile: file,
    loader: LOADERS[path.extname(file)] ?? "js",
    // Everything newer stays as it is; decorators have no syntax tree yet.
    target: "esnext",
    supported: { decorators: false },
    jsx: "automatic",
    sourcemap: "external",
    sourcesContent: false,
    logLevel: "silent",
  });
  const sourceMap = new SourceMap(JSON.parse(map) as SourceMapPayload);
  const lineStarts = [0, ...[...code.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const positionOf = (offset: number) => {
    const line = lineStarts.findLastIndex((start) => start <= offset);
    const entry = sourceMap.findEntry(line, offset - (lineStarts[line] ?? 0));
    return "originalLine" in entry ? { line: entry.originalLine + 1, column: entry.originalColumn + 1 } : undefined;
  };
  const mapUrl = `data:application/json;base64,${Buffer.from(map).toString("base64")}`;
  return { ...parseText(code), text: `${code}\n//# sourceMappingURL=${mapUrl}\n`, file, positionOf };
}

/** Read the text of a module that stands alone. @throws `SyntaxError` */
export function parseText(text: string): ParsedModule {
  // The two libraries name the same standard tree by types of their own.
  const program = parse(text, {
    ecmaVersion: "latest",
    sourceType: "module",
    ranges: true,
    allowReturnOutsideFunction: true,
  }) as AcornNode as Program & SyntaxNode;
  const scopes = analyze(program, { ecmaVersion: 2026 as 2024, sourceType: "module" });
  return { text, program, scopes, positionOf: () => undefined };
}

/** The scope that a reference at `node` looks into first. */
export function scopeAt(scopes: ScopeManager, node: SyntaxNode): Scope | undefined {
  let found: Scope | undefined;
  for (const scope of scopes.scopes) {
    const block = scope.block as SyntaxNode;
    // Scopes come outermost first, so the last that encloses the node is the nearest.
    if (block.start <= node.start && node.end <= block.end) found = scope;
  }
  return found;
}

/** Visit `root` and what is below it; children of a node for which `visit` gives false are left out. */
export function walk(root: SyntaxNode, visit: (node: SyntaxNode) => unknown): void {
  if (visit(root) === false) return;
  for (const child of Object.values(root)) {
    for (const node of Array.isArray(child) ? child : [child]) if (isNode(node)) walk(node, visit);
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string" && "start" in value;
}
