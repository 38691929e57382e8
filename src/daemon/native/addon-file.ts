import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The native add-on `name` beside the daemon, or beside its Node, which is the same place in a sandbox: a daemon that comes out of a snapshot
 * does not know where it stands. `undefined` when it is in neither.
 */
export function findAddonFile(name: string): string | undefined {
  const places = [dirname(fileURLToPath(import.meta.url)), dirname(process.execPath)];
  return places.map((place) => join(place, name)).find((file) => existsSync(file));
}
