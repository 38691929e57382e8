import { stripTypeScriptTypes } from "node:module";
import { Script } from "node:vm";
import { type ImportSpecifier, init, parse } from "es-module-lexer";

/** Name of the function that stands for `import` in cells, where the language has none. */
export const IMPORT = "__abxImport";

/** Turn the text of a cell into what V8 evaluates as a line of a REPL: no types, and imports as calls. */
export async function toReplSource(code: string, isTypeScript: boolean): Promise<string> {
  const script = isTypeScript ? stripTypes(code) : code;
  await init;
  return asExpression(replaceImports(script));
}

/** Types are blanked; what needs more than that, such as an enum, is rewritten. */
function stripTypes(code: string): string {
  try {
    return stripTypeScriptTypes(code);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    return stripTypeScriptTypes(code, { mode: "transform" });
  }
}

function replaceImports(code: string): string {
  let imports: readonly ImportSpecifier[];
  try {
    [imports] = parse(code);
  } catch {
    // V8 says better what is wrong.
    return code;
  }
  let replaced = code;
  for (const found of [...imports].reverse()) {
    const { ss: start, se: end, d: kind } = found;
    if (kind >= 0) replaced = `${replaced.slice(0, start)}${IMPORT}${replaced.slice(start + "import".length)}`;
    else if (kind === -1) replaced = replaced.slice(0, start) + toCall(code, found) + replaced.slice(end);
  }
  return replaced;
}

/** `import a, { b as c } from "d"` as declarations in the same place. */
function toCall(code: string, { ss: start, se: end, s: from, e: to, a: attributes }: ImportSpecifier): string {
  const withAttributes = attributes >= 0 ? `, { with: ${code.slice(attributes, end)} }` : "";
  const call = `await ${IMPORT}(${JSON.stringify(code.slice(from, to))}${withAttributes})`;
  const clause = code.slice(start + "import".length, from - 1).replace(/from\s*$/, "");
  const namespace = /\*\s*as\s+([\w$]+)/.exec(clause)?.[1];
  const named = /\{([\s\S]*)\}/.exec(clause)?.[1]?.replace(/\sas\s/g, ": ");
  const standard = /^\s*([\w$]+)\s*(?:,|$)/.exec(clause)?.[1];
  const parts = [...(standard === undefined ? [] : [`default: ${standard}`]), ...(named?.trim() ? [named] : [])];
  if (namespace !== undefined) {
    const rest = standard === undefined ? "" : `, { default: ${standard} } = ${namespace}`;
    return `const ${namespace} = ${call}${rest};`;
  }
  return parts.length === 0 ? `${call};` : `const { ${parts.join(", ")} } = ${call};`;
}

/** A cell that is an object literal is meant as a value and not as a block. */
function asExpression(code: string): string {
  if (!/^\s*\{[\s\S]*\}\s*$/.test(code)) return code;
  try {
    new Script(`(${code})`);
    return `(${code})`;
  } catch {
    return code;
  }
}
