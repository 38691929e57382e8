import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { FailedPreconditionError } from "../errors/error-classes.js";

const PACKAGE_NAME = "@agent-sandbox/sdk";

/**
 * Path of the built `abx` program of this package.
 *
 * @throws {@link FailedPreconditionError} the package's files are not beside this module, as in a bundled application.
 */
export function findAbxPath(): string {
  const root = findPackageRoot(path.dirname(fileURLToPath(import.meta.url))) ?? findInstalledRoot();
  const abxPath = root === undefined ? undefined : path.join(root, "dist", "cli", "abx.js");
  if (abxPath !== undefined && existsSync(abxPath)) return abxPath;
  throw new FailedPreconditionError(
    `cannot start the local platform: ${abxPath ?? `the files of ${PACKAGE_NAME}`} cannot be found; install ${PACKAGE_NAME} without bundling it, ` +
      "or run `abx serve` yourself and set AGENT_SANDBOX_API_URL and AGENT_SANDBOX_API_KEY",
    { operation: "localPlatform" },
  );
}

function findPackageRoot(directory: string): string | undefined {
  for (let current = directory; ; current = path.dirname(current)) {
    if (packageNameIn(current) === PACKAGE_NAME) return current;
    if (path.dirname(current) === current) return undefined;
  }
}

/** Where this module was bundled into another file, the package may still be installed. */
function findInstalledRoot(): string | undefined {
  try {
    return path.dirname(fileURLToPath(import.meta.resolve(`${PACKAGE_NAME}/package.json`)));
  } catch {
    return undefined;
  }
}

function packageNameIn(directory: string): unknown {
  try {
    return (JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8")) as { name?: unknown }).name;
  } catch {
    return undefined;
  }
}
