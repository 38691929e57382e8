import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { BuildFailure } from "esbuild";
import { FailedPreconditionError } from "../errors/error-classes.js";
import { findPackageRoot } from "../node/package-root.js";
import { quoteShellWord } from "../shared/shell-quote.js";
import { loadEsbuild } from "./esbuild.js";
import { type FunctionModule, type SentFunction, toFunctionModule } from "./function-source.js";
import { PROGRAMS_DIR, type RemoteProgram } from "./remote-program.js";

/** What modules of other formats expect to be there. */
const REQUIRE_BANNER =
  'import { createRequire as createRequireForBundle } from "node:module"; const require = createRequireForBundle(import.meta.url);';

/**
 * Bundle a function and what it imports for the Node of a sandbox.
 *
 * @param packages specifications for npm; what they name is not bundled but installed inside.
 * @throws {@link InvalidArgumentError} the function uses a variable outside of it; {@link FailedPreconditionError} something that it
 * imports cannot be bundled, or the bundler is not installed.
 */
export async function toFunctionProgram(sent: SentFunction, packages: readonly string[]): Promise<RemoteProgram> {
  const code = await bundle(sent.name, await toFunctionModule(sent), packages.map(packageNameOf));
  const runner = await readRunner();
  const key = createHash("sha256")
    .update(JSON.stringify([code, runner, packages]))
    .digest("hex")
    .slice(0, 16);
  const directory = `${PROGRAMS_DIR}/${key}`;
  return {
    directory,
    files: [
      { path: `${directory}/run.mjs`, data: runner },
      { path: `${directory}/function.mjs`, data: code },
      { path: `${directory}/package.json`, data: '{ "private": true }\n' },
    ],
    install: packages.length === 0 ? undefined : `npm install --no-audit --no-fund --no-save ${packages.map(quoteShellWord).join(" ")}`,
    toCommand: ({ argumentsPath, resultPath }) =>
      `exec node --enable-source-maps ~/${directory}/run.mjs ~/${directory}/function.mjs ~/${argumentsPath} ~/${resultPath}`,
  };
}

async function bundle(name: string, { code, resolveDir, sourceFile }: FunctionModule, external: string[]): Promise<string> {
  const esbuild = await loadEsbuild();
  try {
    const { outputFiles } = await esbuild.build({
      stdin: { contents: code, resolveDir, sourcefile: path.basename(sourceFile), loader: "js" },
      bundle: true,
      write: false,
      platform: "node",
      format: "esm",
      target: "node20",
      external: external.flatMap((packageName) => [packageName, `${packageName}/*`]),
      banner: { js: REQUIRE_BANNER },
      sourcemap: "inline",
      sourcesContent: false,
      logLevel: "silent",
    });
    return outputFiles[0]?.text ?? "";
  } catch (cause) {
    const [first] = (cause as Partial<BuildFailure>).errors ?? [];
    const where = first?.location ? ` (${first.location.file}:${first.location.line})` : "";
    throw new FailedPreconditionError(
      `${name} cannot be bundled: ${first?.text ?? String(cause)}${where}; a package that cannot be bundled is named in \`packages\`, which installs it in the sandbox`,
      { operation: "remote", cause },
    );
  }
}

/** The program that makes the call inside; it is built with this package. */
async function readRunner(): Promise<string> {
  const file = path.join(findPackageRoot() ?? ".", "dist", "declarative", "run-function.mjs");
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new FailedPreconditionError(`${file} cannot be read; install @agent-sandbox/sdk without bundling it`, {
      operation: "remote",
      cause,
    });
  }
}

/** `lodash@4` and `@scope/name@file:x` name packages with something behind a second `@`. */
function packageNameOf(specification: string): string {
  const end = specification.indexOf("@", 1);
  return end === -1 ? specification : specification.slice(0, end);
}
