import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FailedPreconditionError } from "../../../errors/error-classes.js";
import { ID_RANGE_SIZE } from "./id-range.js";

/** What a sandbox takes from its template. */
export interface TemplateLayers {
  /** Host id that owns the files of root; the ids that own the files of the template are the ids of its sandboxes. */
  readonly hostIdBase: number;
  /** Absolute directories, lowest first. */
  readonly lowerDirs: readonly string[];
}

/** @throws {@link FailedPreconditionError} a part of the template is missing. */
export function readTemplateLayers(templateDir: string): TemplateLayers {
  try {
    const { hostIdBase, layers = ["rootfs"] } = JSON.parse(readFileSync(join(templateDir, "template.json"), "utf8")) as {
      readonly hostIdBase?: unknown;
      readonly layers?: readonly string[];
    };
    const lowerDirs = layers.map((layer) => resolve(templateDir, layer));
    if (typeof hostIdBase === "number" && hostIdBase >= ID_RANGE_SIZE && lowerDirs.every((layer) => existsSync(layer))) {
      return { hostIdBase, lowerDirs };
    }
  } catch {
    // Said below.
  }
  throw new FailedPreconditionError(`the template in ${templateDir} is incomplete; build it again, base with "abx setup"`);
}
