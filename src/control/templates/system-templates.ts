import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { IdRange } from "../drivers/oci/id-range.js";
import { BASE_PACKAGES, createBaseRecipe } from "./base-recipe.js";
import { CODE_INTERPRETER_FINISH_SCRIPT, CODE_INTERPRETER_PACKAGES } from "./code-interpreter-recipe.js";
import { copyNpm } from "./copy-npm.js";
import { readDebianSources } from "./debian-sources.js";
import { readAptConfig, runMmdebstrap } from "./run-mmdebstrap.js";
import { shiftOwnership } from "./shift-ownership.js";
import { withLock } from "./staging-lock.js";
import { createTemplateId } from "./template-id.js";
import { DEFAULT_TAG } from "./template-reference.js";
import type { ResolvedTemplate, TemplateStore } from "./template-store.js";

/** A template that the setup of a machine builds. */
export interface SystemTemplate {
  /** Name under which it is found. */
  readonly alias: string;
  /** Packages beside Debian's essential ones. */
  readonly packages: readonly string[];
  /** Memory limit of its sandboxes. */
  readonly memoryMb: number;
  /** Shell script that finishes the root file system in `$1` after what all templates have in common. */
  readonly finish?: string;
}

export const BASE: SystemTemplate = { alias: "base", packages: BASE_PACKAGES, memoryMb: 1024 };

/** `base` with a Python kernel and the usual libraries for data; it is its own root file system, so either can be rebuilt alone. */
export const CODE_INTERPRETER: SystemTemplate = {
  alias: "code-interpreter-v1",
  packages: CODE_INTERPRETER_PACKAGES,
  // Each context is a Python process of its own, and data wants room.
  memoryMb: 2048,
  finish: CODE_INTERPRETER_FINISH_SCRIPT,
};

/** Where and how a template is built. */
export interface BuildSystemTemplateOptions {
  readonly store: TemplateStore;
  readonly templatesDir: string;
  readonly idRange: IdRange;
  /** Receives a line when something happens. */
  readonly onProgress: (line: string) => void;
}

const STAGING_PREFIX = ".building-";
const LOCK_NAME = ".build.lock";

const run = promisify(execFile);

/** Do something while no process builds a system template. @param onWait called once when one does, which is waited for. */
export function betweenSystemBuilds<T>(templatesDir: string, work: () => Promise<T>, onWait: () => void): Promise<T> {
  return withLock(templatesDir, LOCK_NAME, work, onWait);
}

/** The build that is there, when it is what this version of the product would build. */
export function findCurrent(
  { alias, packages, memoryMb, finish }: SystemTemplate,
  store: TemplateStore,
  idRange: IdRange,
): ResolvedTemplate | undefined {
  const { fingerprint } = createBaseRecipe("", readDebianSources(), "", packages, finish);
  const isCurrent = ({ aliases, recipe, hostIdBase, memoryMb: limitMb }: ResolvedTemplate) =>
    aliases.includes(alias) && recipe === fingerprint && hostIdBase === idRange.base && limitMb === memoryMb;
  return store.list().find(isCurrent);
}

/**
 * Build a template from the machine's own package sources and put it in place in one step; a build that is current already is returned at once.
 *
 * A build that was killed leaves only a staging directory, which the next one removes.
 *
 * @throws {@link FailedPreconditionError} the build failed; the message ends with its last output.
 */
export async function buildSystemTemplate(template: SystemTemplate, options: BuildSystemTemplateOptions): Promise<ResolvedTemplate> {
  const { alias, packages, memoryMb, finish } = template;
  const { store, templatesDir, idRange, onProgress } = options;
  return betweenSystemBuilds(
    templatesDir,
    async () => {
      removeLeftovers(templatesDir);
      const current = findCurrent(template, store, idRange);
      if (current !== undefined) return current;
      const templateId = store.find(alias)?.templateId ?? createTemplateId();
      const buildId = randomUUID();
      const staging = join(templatesDir, `${STAGING_PREFIX}${buildId}`);
      const rootfs = join(staging, "rootfs");
      try {
        mkdirSync(staging, { recursive: true, mode: 0o711 });
        chmodSync(staging, 0o711);
        const recipe = createBaseRecipe(rootfs, readDebianSources(), await readAptConfig(), packages, finish);
        await runMmdebstrap(recipe, onProgress);
        for (const script of recipe.finish) await run("sh", ["-c", script, "sh", rootfs]);
        if (!copyNpm(rootfs)) onProgress("no npm package on this machine: the template has node without npm");
        onProgress("giving the files to the sandbox's ids");
        shiftOwnership(rootfs, idRange);
        const build = {
          templateId,
          buildId,
          hostIdBase: idRange.base,
          cpuCount: 2,
          memoryMb,
          createdAt: new Date().toISOString(),
          recipe: recipe.fingerprint,
        };
        return await store.publish(staging, build, { aliases: [alias], tags: [DEFAULT_TAG] });
      } finally {
        rmSync(staging, { recursive: true, force: true });
      }
    },
    () => onProgress("another process is building a template; waiting for it"),
  );
}

function removeLeftovers(templatesDir: string): void {
  if (!existsSync(templatesDir)) return;
  for (const name of readdirSync(templatesDir).filter((entry) => entry.startsWith(STAGING_PREFIX))) {
    rmSync(join(templatesDir, name), { recursive: true, force: true });
  }
}
