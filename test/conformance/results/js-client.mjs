// A client of npm, as the results describe it.
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { publicMethods } from "./public-methods.mjs";

/** The client in a package directory; `typesFile` is relative to it. One that is partial is driven where it differs from another version. */
export function jsClient(directory, { name, typesFile = "dist/index.d.ts", ownOnly = false, isPartial = false } = {}) {
  const manifest = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"));
  return {
    name: name ?? `${manifest.name} (npm)`,
    version: manifest.version,
    isPartial,
    urlPrefix: pathToFileURL(path.join(directory, "dist/")).href,
    methods: publicMethods(path.join(directory, typesFile), { ownOnly }),
  };
}
