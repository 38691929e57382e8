import { fileURLToPath } from "node:url";

/** Where a function of ours was called; lines and columns count from 1. */
export interface CallSite {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const POSITION = /((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?)(?:\?[^:()]*)?:(\d+):(\d+)\)?$/;

/**
 * Remember who calls `callee`. The result is worked out when it is asked for; `undefined` where the caller has no file.
 *
 * A loader that compiles on the way and maps stack traces back (as Node's, tsx and vitest do) gives the position in the original.
 */
export function captureCallSite(callee: (...args: never[]) => unknown): () => CallSite | undefined {
  const trace: { readonly stack?: string } = {};
  Error.captureStackTrace(trace, callee);
  return () => {
    const frame = trace.stack?.split("\n").find((line) => line.trimStart().startsWith("at "));
    const [, file, line, column] = POSITION.exec(frame ?? "") ?? [];
    if (file === undefined) return undefined;
    return { file: file.startsWith("file:") ? fileURLToPath(file) : file, line: Number(line), column: Number(column) };
  };
}
