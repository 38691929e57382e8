import path from "node:path";
import { InvalidArgumentError } from "../errors/error-classes.js";
import type { CallSite } from "./call-site.js";
import { type FoundFunction, findArgumentFunction, findDecoratedMethod } from "./find-function.js";
import { findOuterNames, type OuterNames } from "./outer-names.js";
import { type ParsedModule, parseModuleFile, parseText, type SyntaxNode } from "./parsed-module.js";

/** A function that may be sent, and how it is called in messages. */
export interface SentFunction {
  // biome-ignore lint/complexity/noBannedTypes: only its text and its name matter
  readonly fn: Function;
  readonly name: string;
  /** Where it was given to us. */
  readonly site: CallSite | undefined;
  /** It is a method with this name, whose decorator was made at `site`. */
  readonly methodName?: string | undefined;
}

/** An ES module whose default export is the function, with the imports it needs. */
export interface FunctionModule {
  readonly code: string;
  /** Directory from which its imports are resolved. */
  readonly resolveDir: string;
  /** Name of the module in stack traces. */
  readonly sourceFile: string;
}

/** Names that modules have without declaring them. */
const MODULE_NAMES = ["require", "module", "exports", "__dirname", "__filename", "arguments", "undefined"];

/**
 * Cut a function out of the module that defines it.
 *
 * @throws {@link InvalidArgumentError} it uses a variable outside of itself, which the message names, or has no text of its own.
 */
export async function toFunctionModule(sent: SentFunction): Promise<FunctionModule> {
  const text = Function.prototype.toString.call(sent.fn);
  if (/\{\s*\[native code\]\s*\}$/.test(text)) {
    throw new InvalidArgumentError(`${sent.name} cannot run in a sandbox: it is built in or bound, so it has no source text`);
  }
  const { site } = sent;
  const module = site && (await parseFile(site.file));
  const found = module && site && find(module, site, sent.methodName);
  if (module === undefined || found === undefined) return fromText(sent, text);
  const place = { resolveDir: path.dirname(site?.file ?? "."), sourceFile: site?.file ?? "function.js" };
  if (found.type === "imported") {
    const { specifier, exportName } = found;
    return { ...place, code: `export { ${JSON.stringify(exportName)} as default } from ${JSON.stringify(specifier)};\n` };
  }
  const outer = findOuterNames(module, found.node);
  refuseVariables(sent.name, outer.variables);
  return { ...place, code: cutOut(module.text, found, outer) };
}

/** The module where it can be read; a file may be gone, or be none at all, as in a program in one piece. */
async function parseFile(file: string): Promise<ParsedModule | undefined> {
  try {
    return await parseModuleFile(file);
  } catch (error) {
    const isUnreadable = error instanceof SyntaxError || "errors" in (error as object) || "errno" in (error as object);
    if (isUnreadable) return undefined;
    throw error;
  }
}

function find(module: ParsedModule, site: CallSite, methodName: string | undefined): FoundFunction | undefined {
  return methodName === undefined ? findArgumentFunction(module, site) : findDecoratedMethod(module, site, methodName);
}

/** Without its module the text of a function says nothing about imports, so it may use only what every module has. */
function fromText({ name }: SentFunction, text: string): FunctionModule {
  const module = parseFunctionText(name, text);
  const { variables, globals } = findOuterNames(module, module.program);
  const known = new Set([...Object.getOwnPropertyNames(globalThis), ...MODULE_NAMES]);
  const unknown = [...variables, ...globals.filter((global) => !known.has(global))];
  refuseVariables(
    name,
    unknown,
    " (its source file was not found, so its imports are not known: run with --enable-source-maps, or from the sources)",
  );
  return { code: module.text, resolveDir: process.cwd(), sourceFile: "function.js" };
}

function parseFunctionText(name: string, text: string): ParsedModule {
  // The text of a method lacks the word `function`, so it only parses inside of an object.
  for (const code of [`export default (${text});\n`, `export default Object.values({ ${text} })[0];\n`]) {
    try {
      return parseText(code);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  throw new InvalidArgumentError(`${name} cannot run in a sandbox: its source text does not parse on its own; define it in a module`);
}

function refuseVariables(name: string, [variable]: readonly string[], note = ""): void {
  if (variable === undefined) return;
  const way = variable === "this" || variable === "super" ? "which stays outside" : "a variable outside of it";
  throw new InvalidArgumentError(
    `${name} cannot run in a sandbox: it uses \`${variable}\`, ${way}; pass it as an argument, or import it from a module${note}`,
    { operation: "remote" },
  );
}

/** The module without everything but the function and its imports; each keeps its line, which the source map counts. */
function cutOut(text: string, { node, isMethod }: FoundFunction & { readonly type: "local" }, { imports, ownName }: OuterNames): string {
  let code = "";
  let offset = 0;
  for (const part of [...imports, node].sort((a, b) => a.start - b.start)) {
    const kept = text.slice(part.start, part.end);
    code += onlyLines(text.slice(offset, part.start)) + (part === node ? toDefaultExport(kept, node, isMethod, ownName) : kept);
    offset = part.end;
  }
  const mapAt = text.lastIndexOf("//# sourceMappingURL=");
  return code + onlyLines(text.slice(offset, mapAt)) + text.slice(mapAt);
}

function toDefaultExport(kept: string, node: SyntaxNode, isMethod: boolean, ownName: string | undefined): string {
  const { async, generator } = node as { readonly async?: boolean; readonly generator?: boolean };
  // The text of a method begins at its parameters.
  const expression = isMethod ? `${async ? "async " : ""}function${generator ? "*" : ""} ${kept}` : kept;
  return ownName === undefined ? `export default (${expression});` : `const ${ownName} = (${expression}); export default ${ownName};`;
}

function onlyLines(text: string): string {
  return text.replaceAll(/[^\n]+/g, "");
}
