import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { FailedPreconditionError } from "../../../errors/error-classes.js";

/** Files of the installed package that run outside of this process. */
export interface PackageFiles {
  readonly runtimeHelper: string;
  readonly daemon: string;
  /** The daemon as a script for a start-up snapshot, and the script that makes one. */
  readonly snapshot: string;
  readonly snapshotBuilder: string;
  /** Native add-ons beside the daemon, by the name under which it loads them; those of optional packages may be absent. */
  readonly addons: Readonly<Record<string, string>>;
  /** Programs around Jupyter kernels, by their place beside the daemon. */
  readonly kernels: Readonly<Record<string, string>>;
}

const PACKAGE_NAME = "@agent-sandbox/sdk";

/**
 * Find the built files of this package, whichever of its files the caller runs from.
 *
 * @throws {@link FailedPreconditionError} the package is not built.
 */
export function findPackageFiles(): PackageFiles {
  const root = findPackageRoot(dirname(fileURLToPath(import.meta.url)));
  const files = {
    runtimeHelper: join(root, "dist/control/runtime-helper.js"),
    daemon: join(root, "dist/daemon/daemon.mjs"),
    snapshot: join(root, "dist/daemon/snapshot.cjs"),
    snapshotBuilder: join(root, "dist/daemon/build-snapshot.cjs"),
  };
  for (const file of Object.values(files)) {
    if (!existsSync(file)) throw new FailedPreconditionError(`${file} is missing: build the package first (npm run build).`);
  }
  return { ...files, addons: findAddons(root), kernels: findKernels(join(root, "dist/daemon/kernels")) };
}

function findKernels(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter((name) => /\.(py|mjs)$/.test(name));
  return Object.fromEntries(names.map((name) => [`kernels/${name}`, join(directory, name)]));
}

function findAddons(root: string): Record<string, string> {
  const require = createRequire(join(root, "package.json"));
  const found: Record<string, string> = {};
  const candidates = {
    "pty.node": `@lydell/node-pty-linux-${process.arch}/pty.node`,
    "koffi.node": `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`,
  };
  for (const [name, path] of Object.entries(candidates)) {
    const file = resolveInPackage(require, path);
    if (file !== undefined) found[name] = file;
  }
  return found;
}

/** Looks in each node_modules directory, as packages of add-ons often have `exports` that name no file. */
function resolveInPackage(require: NodeJS.Require, path: string): string | undefined {
  return (require.resolve.paths(path) ?? []).map((directory) => join(directory, path)).find((file) => existsSync(file));
}

function findPackageRoot(start: string): string {
  for (let directory = start; directory !== dirname(directory); directory = dirname(directory)) {
    const manifest = join(directory, "package.json");
    if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown }).name === PACKAGE_NAME) return directory;
  }
  throw new FailedPreconditionError(`The files of ${PACKAGE_NAME} were not found above ${start}.`);
}
