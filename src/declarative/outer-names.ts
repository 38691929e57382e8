import type { ImportDeclaration, VariableDeclaration, VariableDeclarator } from "estree";
import { type ParsedModule, type SyntaxNode, walk } from "./parsed-module.js";

/** What a function takes from outside of itself. */
export interface OuterNames {
  /** Import statements of its module whose bindings it uses, and what stands for them in CommonJS. */
  readonly imports: ReadonlySet<SyntaxNode>;
  /** The constant that holds the function, where it calls itself by that name. */
  readonly ownName: string | undefined;
  /** Variables of its module or of a function around it, in order of their first use; `this` and `super` are told like them. */
  readonly variables: readonly string[];
  /** Names that nothing in the module declares. */
  readonly globals: readonly string[];
}

export function findOuterNames({ scopes }: ParsedModule, root: SyntaxNode): OuterNames {
  const imports = new Set<SyntaxNode>();
  const variables = new Set<string>();
  const globals = new Set<string>();
  let ownName: string | undefined;
  for (const scope of scopes.scopes) {
    if (!contains(root, scope.block as SyntaxNode)) continue;
    for (const { identifier, resolved } of scope.references) {
      const name = identifier.name as string;
      const [definition] = resolved?.defs ?? [];
      if (resolved === null || resolved === undefined) globals.add(name);
      else if (contains(root, resolved.scope.block as SyntaxNode) || definition?.node === root) continue;
      else if (definition?.type === "Variable" && definition.node.init === root) ownName = name;
      else if (definition?.type === "ImportBinding") imports.add(definition.parent as ImportDeclaration & SyntaxNode);
      else if (definition?.type === "Variable" && isRequired(definition)) imports.add(definition.parent as SyntaxNode);
      else variables.add(name);
    }
  }
  for (const word of findReceiverWords(root)) variables.add(word);
  return { imports, ownName, variables: [...variables], globals: [...globals] };
}

/** `const x = require("x")`, which compilers make of an import for CommonJS. */
function isRequired({ node, parent }: { readonly node: VariableDeclarator; readonly parent: VariableDeclaration }): boolean {
  const { init } = node;
  if (parent.kind !== "const" || init?.type !== "CallExpression") return false;
  const [argument] = init.arguments;
  return init.callee.type === "Identifier" && init.callee.name === "require" && argument?.type === "Literal";
}

/** `this` and `super` that mean something outside of the function; those of functions and classes inside it are their own. */
function findReceiverWords(root: SyntaxNode): string[] {
  const words: string[] = [];
  walk(root, (node) => {
    if (node !== root && (node.type === "FunctionExpression" || node.type === "FunctionDeclaration" || node.type === "ClassBody"))
      return false;
    if (node.type === "ThisExpression") words.push("this");
    if (node.type === "Super") words.push("super");
  });
  return words;
}

function contains(outer: SyntaxNode, inner: SyntaxNode): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}
