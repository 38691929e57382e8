import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE_NAME = "@agent-sandbox/sdk";

/** Directory of this package; `undefined` where its files are not beside this module and it is not installed either. */
export function findOwnPackage(): string | undefined {
  return findPackageRoot(path.dirname(fileURLToPath(import.meta.url))) ?? findInstalledRoot();
}

/** A file of this package, by its path in it; `undefined` when it cannot be found. */
export function findOwnFile(...names: readonly string[]): string | undefined {
  const root = findOwnPackage();
  const file = root === undefined ? undefined : path.join(root, ...names);
  return file !== undefined && existsSync(file) ? file : undefined;
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
