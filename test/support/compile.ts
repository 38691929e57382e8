import { fileURLToPath } from "node:url";
import ts from "typescript";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Compile files as a program that uses the built package; gives what tsc would print, one entry per error. */
export function compile(
  files: readonly string[],
  options: ts.CompilerOptions,
): { readonly errors: string[]; readonly program: ts.Program } {
  const program = ts.createProgram({
    rootNames: files,
    options: {
      target: ts.ScriptTarget.ES2022,
      lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
      types: ["node"],
      strict: true,
      noEmit: true,
      ...options,
    },
  });
  const errors = ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const place = diagnostic.file === undefined ? "" : `${diagnostic.file.fileName}:${(diagnostic.start ?? 0).toString()}: `;
    return `${place}TS${diagnostic.code}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`;
  });
  return { errors, program };
}
