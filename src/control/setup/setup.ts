import { readFileSync } from "node:fs";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { findIdRange, type IdRange } from "../drivers/oci/id-range.js";
import { assertRoot } from "../drivers/oci/root-need.js";
import { findUsedLayers } from "../layer-users.js";
import { type PlatformPaths, preparePaths, resolvePaths } from "../paths.js";
import { BASE, buildSystemTemplate, CODE_INTERPRETER, findCurrent } from "../templates/system-templates.js";
import { createTemplateStore, type ResolvedTemplate } from "../templates/template-store.js";
import { GVISOR_PACKAGE, installSystemPackages, runAsRoot, SYSTEM_PACKAGES } from "./system-packages.js";

/** How to prepare the machine. */
export interface SetupOptions {
  /** Receives a line when something happens. */
  readonly onProgress: (line: string) => void;
  /** @defaultValue the paths of this user's platform */
  readonly paths?: PlatformPaths;
  /** Build `code-interpreter-v1` too. @defaultValue false: only `base` */
  readonly isForAll?: boolean;
  /** Install gVisor as well. @defaultValue false */
  readonly withGvisor?: boolean;
}

/** What `abx setup` did. */
export interface SetupResult {
  /** Packages that were not there before. */
  readonly installed: readonly string[];
  /** True when the base template was built now, false when it was there. */
  readonly isBaseNew: boolean;
  /** Names of the templates that were built now. */
  readonly built: readonly string[];
  readonly base: ResolvedTemplate;
  readonly durationMs: number;
}

/**
 * Make this machine able to run sandboxes: packages, a range of user ids, the template `base`. What is there already stays as it is, so a
 * second call does nothing.
 *
 * @throws {@link FailedPreconditionError} not possible here; the message says what to do.
 */
export async function runSetup({
  onProgress,
  paths = resolvePaths(),
  isForAll = false,
  withGvisor = false,
}: SetupOptions): Promise<SetupResult> {
  const startedAt = performance.now();
  if (process.platform !== "linux") {
    throw new FailedPreconditionError("Local sandboxes need Linux. Give an API key and a URL to use a remote service.");
  }
  assertRoot();
  const wanted = withGvisor ? [...SYSTEM_PACKAGES, GVISOR_PACKAGE] : SYSTEM_PACKAGES;
  const missing = wanted.filter((systemPackage) => !systemPackage.isInstalled());
  await installSystemPackages(missing, onProgress);
  const idRange = await reserveIdRange(onProgress);
  preparePaths(paths);
  const store = createTemplateStore(paths.templatesDir);
  const built: string[] = [];
  for (const template of isForAll ? [BASE, CODE_INTERPRETER] : [BASE]) {
    if (findCurrent(template, store, idRange) !== undefined) continue;
    onProgress(`building the template ${template.alias}, about a minute`);
    await buildSystemTemplate(template, { store, templatesDir: paths.templatesDir, idRange, onProgress });
    built.push(template.alias);
  }
  if (built.length > 0) store.prune(findUsedLayers(paths));
  return {
    installed: missing.filter((systemPackage) => systemPackage.isInstalled()).map(({ name }) => name),
    isBaseNew: built.includes(BASE.alias),
    built,
    base: store.resolve(BASE.alias),
    durationMs: Math.round(performance.now() - startedAt),
  };
}

/** Write the range of root into /etc/subuid and /etc/subgid, so that no account made later gets the same ids. */
async function reserveIdRange(onProgress: (line: string) => void): Promise<IdRange> {
  const range = findIdRange("root");
  if (range === undefined) throw new FailedPreconditionError("no free block of 65536 user ids was found in /etc/subuid");
  if (/^root:/m.test(readFileOrEmpty("/etc/subuid"))) return range;
  const block = `${range.base}-${range.base + range.size - 1}`;
  onProgress(`reserving the user ids ${block} for sandboxes`);
  const failure = await runAsRoot(["usermod", "--add-subuids", block, "--add-subgids", block, "root"], onProgress);
  if (failure !== undefined) onProgress(`the ids could not be reserved in /etc/subuid (${failure}); they are used all the same`);
  return range;
}

function readFileOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
