import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { compile, ROOT } from "../../support/compile.js";

const PROGRAM = path.join(ROOT, "test/compat/e2b/support/program.ts");
const MEMBERS = path.join(ROOT, "test/compat/e2b/support/members.ts");
const OURS = path.join(ROOT, "dist/compat/e2b/index.d.ts");
const NODE = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, skipLibCheck: true };
/** What only programs below the API of e2b use. */
const LOW_LEVEL = ["ApiClient", "ConnectionConfig", "TemplateBase", "VolumeConnectionConfig", "components", "paths"];

it("a program for the package e2b compiles with it, and with only the import changed", () => {
  expect(compile([PROGRAM], NODE).errors).toEqual([]);
  expect(compile([PROGRAM], { ...NODE, paths: { e2b: [OURS] } }).errors).toEqual([]);
});

it("every public member of the package e2b has one of ours that takes and gives the same", () => {
  expect(compile([MEMBERS], NODE).errors).toEqual([]);
});

it("every name of the package e2b but those below its API can be imported", () => {
  const { program } = compile([MEMBERS], NODE);
  const namesOf = (file: string): string[] => {
    const source = program.getSourceFile(file);
    const symbol = source && program.getTypeChecker().getSymbolAtLocation(source);
    return symbol === undefined
      ? []
      : program
          .getTypeChecker()
          .getExportsOfModule(symbol)
          .map(({ name }) => name);
  };
  const theirs = namesOf(path.join(ROOT, "node_modules/e2b/dist/index.d.ts"));
  const ours = namesOf(OURS);
  expect(theirs.length).toBeGreaterThan(150);
  expect(theirs.filter((name) => !ours.includes(name) && !LOW_LEVEL.includes(name))).toEqual([]);
});
