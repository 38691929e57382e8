import { readFileSync } from "node:fs";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { findIdRange, type IdRange } from "../drivers/oci/id-range.js";
import { findUsedLayers } from "../layer-users.js";
import { type PlatformPaths, preparePaths, resolvePaths } from "../paths.js";
import { buildBase, findCurrentBase } from "../templates/build-base.js";
import { createTemplateStore, type ResolvedTemplate } from "../templates/template-store.js";
import { installSystemPackages, runAsRoot, SYSTEM_PACKAGES } from "./system-packages.js";

/** How to prepare the machine. */
export interface SetupOptions {
  /** Receives a line when something happens. */
  readonly onProgress: (line: string) => void;
  /** @defaultValue the paths of this user's platform */
  readonly paths?: PlatformPaths;
}

/** What `abx setup` did. */
export interface SetupResult {
  /** Packages that were not there before. */
  readonly installed: readonly string[];
  /** True when the base template was built now, false when it was there. */
  readonly isBaseNew: boolean;
  readonly base: ResolvedTemplate;
  readonly durationMs: number;
}

/**
 * Make this machine able to run sandboxes: packages, a range of user ids, the template `base`. What is there already stays as it is, so a
 * second call does nothing.
 *
 * @throws {@link FailedPreconditionError} not possible here; the message says what to do.
 */
export async function runSetup({ onProgress, paths = resolvePaths() }: SetupOptions): Promise<SetupResult> {
  const startedAt = performance.now();
  if (process.platform !== "linux") {
    throw new FailedPreconditionError("Local sandboxes need Linux. Give an API key and a URL to use a remote service.");
  }
  const missing = SYSTEM_PACKAGES.filter((systemPackage) => !systemPackage.isInstalled());
  await installSystemPackages(missing, onProgress);
  if (process.getuid?.() !== 0) {
    throw new FailedPreconditionError("The template is built and sandboxes are run as root: run sudo abx setup, then sudo abx serve.");
  }
  const idRange = await reserveIdRange(onProgress);
  preparePaths(paths);
  const store = createTemplateStore(paths.templatesDir);
  const current = findCurrentBase(store, idRange);
  if (current === undefined) onProgress("building the template base, about a minute");
  const base = current ?? (await buildBase({ store, templatesDir: paths.templatesDir, idRange, onProgress }));
  if (current === undefined) {
    store.prune(findUsedLayers(paths));
  }
  return {
    installed: missing.filter((systemPackage) => systemPackage.isInstalled()).map(({ name }) => name),
    isBaseNew: current === undefined,
    base,
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
