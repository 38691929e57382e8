import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "../../../errors/error-classes.js";

/** A directory of the machine and where it is mounted. */
interface Mount {
  readonly source: string;
  readonly target: string;
}

/** As many as the kernel follows (path_resolution(7)). */
const MAX_LINKS = 40;

/**
 * Check that what lies at the places of mounts, and on the way there, are directories or nothing. Runtimes make what is missing.
 *
 * Only one name at a time is looked at, below directories that are no links, so no link of a layer leads to a file of the machine.
 *
 * @param layers directories that make up the root file system, topmost first.
 * @throws {@link InvalidArgumentError} there is a file, or links go round in a circle.
 */
export function assertMountPlaces(layers: readonly string[], mounts: readonly Mount[]): void {
  for (const [index, { target }] of mounts.entries()) {
    // What is mounted before lies over the layers.
    assertPlace(layers, mounts.slice(0, index), target);
  }
}

function assertPlace(layers: readonly string[], earlier: readonly Mount[], target: string): void {
  const rest = split(target);
  let links = 0;
  let place: readonly string[] = [];
  /** Directories of the machine that `place` consists of, topmost first, for it and for each directory above. */
  const opened: (readonly string[])[] = [layers];
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === "..") {
      place = place.slice(0, -1);
      if (opened.length > 1) opened.pop();
      continue;
    }
    const at = [...place, name];
    const mounted = earlier.findLast((mount) => mount.target === `/${at.join("/")}`);
    const found = mounted === undefined ? findEntry(opened.at(-1) ?? [], name) : { directories: [mounted.source] };
    if (found === undefined) return;
    if ("directories" in found) {
      opened.push(found.directories);
      place = at;
      continue;
    }
    if (found.link === undefined) {
      throw new InvalidArgumentError(
        `nothing can be mounted at the path ${JSON.stringify(target)}: "/${at.join("/")}" is a file in the sandbox; choose a directory, or a path that is not there`,
      );
    }
    links += 1;
    if (links > MAX_LINKS) throw new InvalidArgumentError(`too many links on the way to the mount path ${JSON.stringify(target)}`);
    if (found.link.startsWith("/")) {
      opened.splice(1);
      place = [];
    }
    rest.unshift(...split(found.link));
  }
}

/** What a name is in a directory of the root file system: directories of the machine, a link, or a file; `undefined` for nothing. */
function findEntry(
  parents: readonly string[],
  name: string,
): { directories: readonly string[] } | { link: string | undefined } | undefined {
  const directories: string[] = [];
  for (const parent of parents) {
    const path = join(parent, name);
    const stat = statOf(path);
    if (stat === undefined) continue;
    if (stat.isDirectory()) directories.push(path);
    else if (directories.length > 0 || isWhiteout(stat)) break;
    else return { link: stat.isSymbolicLink() ? readlinkSync(path) : undefined };
  }
  return directories.length > 0 ? { directories } : undefined;
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** With a device of this number overlayfs says that the name is nothing in the layers below. */
function isWhiteout(stat: Stats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0;
}

function split(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
