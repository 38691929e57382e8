import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

const UNNEEDED = ["docs", "man"];

/**
 * Copy the machine's own npm into a root file system, for the `node` there.
 *
 * @returns false when this machine has no npm as a package with its dependencies inside.
 */
export function copyNpm(rootfs: string, searchPath: string = process.env.PATH ?? ""): boolean {
  const source = findNpmPackage(searchPath);
  if (source === undefined) return false;
  const target = join(rootfs, "usr/local/lib/node_modules/npm");
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  for (const name of UNNEEDED) rmSync(join(target, name), { recursive: true, force: true });
  for (const name of ["npm", "npx"]) {
    const link = join(rootfs, "usr/local/bin", name);
    if (!existsSync(link)) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, link);
  }
  return true;
}

function findNpmPackage(searchPath: string): string | undefined {
  for (const directory of searchPath.split(delimiter)) {
    const command = join(directory, "npm");
    if (!existsSync(command)) continue;
    const root = dirname(dirname(realpathSync(command)));
    // Distributions split npm into many packages; such a one does not run elsewhere.
    if (existsSync(join(root, "bin/npm-cli.js")) && existsSync(join(root, "node_modules"))) return root;
  }
  return undefined;
}
