import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const PACKAGE_NAME = "@agent-sandbox/sdk";

/** Directory of this package: above this module, or, where this module was bundled into another file, where it is installed. */
export function findPackageRoot(): string | undefined {
  return findAbove(path.dirname(fileURLToPath(import.meta.url))) ?? findInstalled();
}

/** A file of this package, by its path in it; `undefined` when it cannot be found. */
export function findOwnFile(...names: readonly string[]): string | undefined {
  const root = findPackageRoot();
  const file = root === undefined ? undefined : path.join(root, ...names);
  return file !== undefined && existsSync(file) ? file : undefined;
}

function findAbove(directory: string): string | undefined {
  for (let current = directory; ; current = path.dirname(current)) {
    if (packageNameIn(current) === PACKAGE_NAME) return current;
    if (path.dirname(current) === current) return undefined;
  }
}

function findInstalled(): string | undefined {
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
