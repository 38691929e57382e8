import { build, type Metafile } from "esbuild";
import { ROOT } from "../../support/compile.js";

/** Export conditions of runtimes that are not Node, beside `import` and `default`. */
export const CONDITIONS = {
  browser: ["browser"],
  workerd: ["workerd", "worker", "browser"],
  "edge-light": ["edge-light", "worker"],
  // Deno and Bun also claim to be Node.
  deno: ["deno", "node"],
  bun: ["bun", "node"],
} as const;

export interface Bundle {
  readonly code: string;
  /** What it still imports. */
  readonly imports: readonly string[];
  readonly metafile: Metafile;
}

/** Bundle a program that uses the built package, for a runtime. */
export async function bundleFor(
  runtime: keyof typeof CONDITIONS,
  program: string,
  options: { readonly format?: "esm" | "iife"; readonly minify?: boolean; readonly external?: readonly string[] } = {},
): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    platform: "neutral",
    target: "es2022",
    conditions: ["import", ...CONDITIONS[runtime]],
    // Anything of Node stays visible as an import.
    external: ["node:*", "ws", ...NODE_MODULES, ...(options.external ?? [])],
    format: options.format ?? "esm",
    minify: options.minify ?? false,
    logLevel: "silent",
  });
  const outputs = Object.values(metafile.outputs);
  return {
    code: outputFiles.map(({ text }) => text).join("\n"),
    imports: outputs.flatMap(({ imports }) => imports.map(({ path }) => path)),
    metafile,
  };
}

const NODE_MODULES = [
  "fs",
  "path",
  "os",
  "http",
  "https",
  "net",
  "tls",
  "crypto",
  "stream",
  "child_process",
  "module",
  "zlib",
  "url",
  "vm",
];
