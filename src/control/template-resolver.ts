import type { InstanceLimits } from "./drivers/driver.js";
import type { TemplateStart, TemplateStore } from "./templates/template-store.js";

/** A template reference, resolved to the build that a sandbox starts from. */
export interface StartTemplate {
  readonly templateId: string;
  readonly buildId: string;
  readonly alias: string | undefined;
  /** Absolute directory with `rootfs/` and `template.json`. */
  readonly dir: string;
  readonly limits: InstanceLimits;
  /** MiB; 0 when nothing but the disk of the machine limits it. */
  readonly diskSizeMb: number;
  /** Variables, user, directory and programs; absent when the template has none of its own. */
  readonly start?: TemplateStart | undefined;
}

/** Finds templates by reference. */
export interface TemplateResolver {
  /** @throws {@link TemplateError} no such template or tag; {@link InvalidArgumentError} not a reference. */
  resolve(reference: string): StartTemplate;
}

/** Processes and threads of one sandbox; enough for builds and browsers, far too few to hurt the machine. */
export const PIDS_MAX = 1_024;

/**
 * Resolve references in the templates on the disk.
 *
 * @param diskMb MiB that a sandbox may write; 0 for no limit
 */
export function createTemplateResolver(store: Pick<TemplateStore, "resolve">, diskMb = 0): TemplateResolver {
  return {
    resolve(reference) {
      const build = store.resolve(reference);
      return {
        templateId: build.templateId,
        buildId: build.buildId,
        alias: build.aliases[0],
        dir: build.directory,
        limits: {
          memoryBytes: build.memoryMb * 1024 * 1024,
          cpuCount: build.cpuCount,
          pidsMax: PIDS_MAX,
          ...(diskMb > 0 && { diskBytes: diskMb * 1024 * 1024 }),
        },
        diskSizeMb: diskMb,
        start: build.start,
      };
    },
  };
}
