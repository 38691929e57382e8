import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What a page loads of a package, minified and gzipped. */
export interface EntrySize {
  /** Before anything is called: the entry and what it imports. */
  readonly loadedBytes: number;
  /** With everything that is loaded when it is called for. */
  readonly wholeBytes: number;
}

const NODE_MODULES = "assert,buffer,child_process,crypto,events,fs,http,https,net,os,path,stream,string_decoder,tls,url,util,zlib".split(
  ",",
);

/** Bundle a module with code splitting for browsers; modules of Node count as nothing, on whichever side they stand. */
export async function measureEntry(specifier: string): Promise<EntrySize> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from ${JSON.stringify(specifier)};`, resolveDir: ROOT },
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    outdir: "/out",
    absWorkingDir: "/",
    external: ["node:*", ...NODE_MODULES],
    logLevel: "silent",
  });
  const sizes = new Map(outputFiles.map(({ path, contents }) => [path, gzipSync(contents, { level: 9 }).length]));
  const loaded = new Set<string>();
  const visit = (file: string) => {
    if (loaded.has(file) || metafile.outputs[file] === undefined) return;
    loaded.add(file);
    for (const { path, kind } of metafile.outputs[file].imports) if (kind === "import-statement") visit(path);
  };
  visit("out/stdin.js");
  const sum = (files: Iterable<string>) => [...files].reduce((total, file) => total + (sizes.get(file) ?? 0), 0);
  return { loadedBytes: sum([...loaded].map((file) => `/${file}`)), wholeBytes: sum(sizes.keys()) };
}
