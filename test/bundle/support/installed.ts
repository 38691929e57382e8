import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ROOT } from "../../support/compile.js";

/** A project of its own with the packed package in it. */
export interface Project extends AsyncDisposable {
  readonly directory: string;
  /** Names of the files in the package, relative to its root. */
  readonly files: readonly string[];
  write(name: string, text: string): Promise<string>;
}

/** Pack the package and unpack it into an empty project. `store` puts it, as pnpm does, into a store that `node_modules` links to. */
export async function installPacked(layout: "flat" | "store" = "flat"): Promise<Project> {
  // The real path: links of the temporary directory are none of the package's business.
  const directory = await realpath(await mkdtemp(path.join(tmpdir(), "installed-")));
  const scope = path.join(directory, "node_modules/@agent-sandbox");
  const home = layout === "flat" ? scope : path.join(directory, "node_modules/.pnpm/sdk/node_modules/@agent-sandbox");
  const target = path.join(home, "sdk");
  await mkdir(target, { recursive: true });
  const packed = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", directory], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const tarball = path.join(directory, packed.trim().split("\n").at(-1) ?? "");
  execFileSync("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  await rm(tarball);
  if (layout === "store") {
    await mkdir(scope, { recursive: true });
    await symlink(target, path.join(scope, "sdk"));
  }
  await symlink(path.join(ROOT, "node_modules/ws"), path.join(home, "../ws"));
  await writeFile(path.join(directory, "package.json"), '{ "name": "project", "private": true, "type": "module" }\n');
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  return {
    directory,
    files: entries.filter((entry) => entry.isFile()).map((entry) => path.relative(target, path.join(entry.parentPath, entry.name))),
    async write(name, text) {
      const file = path.join(directory, name);
      await writeFile(file, text);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
