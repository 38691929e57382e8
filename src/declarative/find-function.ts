import type { CallExpression, ImportDeclaration, MethodDefinition } from "estree";
import type { CallSite } from "./call-site.js";
import { type ParsedModule, type SyntaxNode, scopeAt, walk } from "./parsed-module.js";

/** Where a function is defined. */
export type FoundFunction =
  /** In this module: the node is a function, of which `isMethod` says that it lacks the word. */
  | { readonly type: "local"; readonly node: SyntaxNode; readonly isMethod: boolean }
  /** In another module, under a name of it. */
  | { readonly type: "imported"; readonly specifier: string; readonly exportName: string };

type Positioned = { readonly line: number; readonly column: number };

/** The function that the call at `site` gets as its first argument; `undefined` where that cannot be told from the text. */
export function findArgumentFunction(module: ParsedModule, site: CallSite): FoundFunction | undefined {
  const call = findCall(module, site);
  const argument = call?.arguments[0] as SyntaxNode | undefined;
  return argument === undefined ? undefined : toFunction(module, argument);
}

/** The method `name` whose decorator is made by the call at `site`: the first of this name behind it. */
export function findDecoratedMethod(module: ParsedModule, site: CallSite, name: string): FoundFunction | undefined {
  const methods: { readonly node: SyntaxNode; readonly at: Positioned }[] = [];
  walk(module.program, (node) => {
    if (node.type !== "MethodDefinition" || node.kind !== "method" || keyOf(node) !== name) return;
    const at = module.positionOf(node.start) ?? module.positionOf((node.key as SyntaxNode).start);
    if (at !== undefined && isBefore(site, at)) methods.push({ node: node.value as SyntaxNode, at });
  });
  const first = methods.reduce<(typeof methods)[number] | undefined>(
    (a, b) => (a !== undefined && isBefore(a.at, b.at) ? a : b),
    undefined,
  );
  return first && { type: "local", node: first.node, isMethod: true };
}

/**
 * The call at a position of a stack trace: somewhere between the beginning of what is called and the first argument, as V8 means the name
 * in `a.b(x)`, and the parenthesis in `(0, a.b)(x)`.
 */
function findCall(module: ParsedModule, site: CallSite): CallExpression | undefined {
  let found: { readonly call: CallExpression; readonly from: Positioned } | undefined;
  walk(module.program, (node) => {
    if (node.type !== "CallExpression" || node.arguments.length === 0) return;
    const from = module.positionOf((node.callee as SyntaxNode).start);
    const to = module.positionOf((node.arguments[0] as SyntaxNode).start);
    if (from === undefined || to === undefined || isBefore(site, from) || !isBefore(site, to)) return;
    // Of two calls in a chain the one that begins later is meant, or the inner one, which is visited later.
    if (found === undefined || !isBefore(from, found.from)) found = { call: node, from };
  });
  return found?.call;
}

function toFunction(module: ParsedModule, node: SyntaxNode): FoundFunction | undefined {
  if (isFunction(node)) return { type: "local", node, isMethod: false };
  if (node.type !== "Identifier") return undefined;
  const scope = scopeAt(module.scopes, node);
  const variable = scope?.references.find(({ identifier }) => identifier === node)?.resolved;
  const definition = variable?.defs.length === 1 ? variable.defs[0] : undefined;
  switch (definition?.type) {
    case "FunctionName":
      return { type: "local", node: definition.node as SyntaxNode, isMethod: false };
    case "ImportBinding": {
      const specifier = String((definition.parent as ImportDeclaration).source.value);
      const { node: binding } = definition;
      if (binding.type === "ImportNamespaceSpecifier") return undefined;
      if (binding.type === "ImportDefaultSpecifier") return { type: "imported", specifier, exportName: "default" };
      const { imported } = binding as { imported: { name?: string; value?: unknown } };
      return { type: "imported", specifier, exportName: imported.name ?? String(imported.value) };
    }
    case "Variable": {
      const { init } = definition.node as { init?: SyntaxNode | null };
      return definition.parent?.kind === "const" && init && isFunction(init) ? { type: "local", node: init, isMethod: false } : undefined;
    }
    default:
      return undefined;
  }
}

function isFunction(node: SyntaxNode): boolean {
  return node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";
}

function keyOf({ key, computed }: MethodDefinition): string | undefined {
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  if (key.type === "Identifier" && !computed) return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

function isBefore(a: Positioned, b: Positioned): boolean {
  return a.line < b.line || (a.line === b.line && a.column < b.column);
}
