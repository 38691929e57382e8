// The public methods of a client, from its declarations, as `<group>.<method>`.
import { readFileSync } from "node:fs";
import ts from "typescript";

export const GROUPS = JSON.parse(readFileSync(new URL("groups.json", import.meta.url), "utf8"));

/** Methods that the declarations of `typesFile` export; with `ownOnly`, those that its package adds to what it builds on. */
export function publicMethods(typesFile, { ownOnly = false } = {}) {
  const program = ts.createProgram([typesFile], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    types: ["node"],
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(typesFile));
  const found = new Set();
  for (const exported of checker.getExportsOfModule(module)) {
    const group = GROUPS[exported.name];
    if (group === undefined) continue;
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const types = [checker.getDeclaredTypeOfSymbol(symbol)];
    if (symbol.flags & ts.SymbolFlags.Value) types.push(checker.getTypeOfSymbol(symbol));
    for (const property of types.flatMap((type) => checker.getPropertiesOfType(type))) {
      if (isMethod(checker, property, ownOnly ? typesFile : undefined)) found.add(`${group}.${property.name}`);
    }
  }
  return found;
}

function isMethod(checker, property, file) {
  const [declaration] = property.declarations ?? [];
  if (declaration === undefined || !/^[a-z]\w*$/i.test(property.name)) return false;
  const from = declaration.getSourceFile().fileName;
  if (/\/typescript\/lib\//.test(from) || (file !== undefined && from !== file)) return false;
  if (ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) return false;
  return checker.getTypeOfSymbol(property).getCallSignatures().length > 0;
}
