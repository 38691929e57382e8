import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type DaemonInit, initDaemon } from "../daemon-client.js";
import type { Driver, InstanceLimits } from "../drivers/driver.js";
import { createSandboxId } from "../sandbox-id.js";
import { SandboxLink } from "../sandbox-link.js";

/** The way out that the sandboxes of builds have; that of every sandbox which asks for nothing special. */
export interface BuildNetwork {
  /** What the daemon is told about it. */
  init(sandboxId: string): Partial<DaemonInit>;
  open(link: SandboxLink): void;
}

/** What the sandboxes of one build have in common. */
export interface BuildSandboxOptions {
  readonly driver: Pick<Driver, "create">;
  readonly network: BuildNetwork | undefined;
  /** Ids of sandboxes that belong to builds. */
  readonly owned: Set<string>;
  readonly templateId: string;
  readonly hostIdBase: number;
  readonly limits: InstanceLimits;
  /** Directory for the `template.json` of what is built so far; its depth is that of the finished build. */
  readonly stagingDir: string;
}

/** A sandbox that stands on the layers which a build has so far. */
export interface BuildSandbox {
  readonly link: SandboxLink;
  /** End it and keep what was written in `directory`; false when nothing was. */
  harvest(directory: string): Promise<boolean>;
  /** End it and forget what was written. */
  discard(): Promise<void>;
}

const INIT_TIMEOUT_MS = 20_000;

/** Paths of layers as `template.json` has them. */
export function toRelativeLayers(stagingDir: string, layers: readonly string[]): string[] {
  return layers.map((layer) => relative(stagingDir, layer));
}

/** Start a sandbox on `layers`; leaves nothing behind when it rejects. */
export async function openBuildSandbox(
  options: BuildSandboxOptions,
  layers: readonly string[],
  signal: AbortSignal,
): Promise<BuildSandbox> {
  const { driver, network, owned, templateId, hostIdBase, limits, stagingDir } = options;
  mkdirSync(stagingDir, { recursive: true, mode: 0o711 });
  writeFileSync(join(stagingDir, "template.json"), JSON.stringify({ hostIdBase, layers: toRelativeLayers(stagingDir, layers) }));
  const id = createSandboxId();
  owned.add(id);
  try {
    const instance = await driver.create({ id, templateDir: stagingDir, limits });
    const link = new SandboxLink(instance);
    const end = async <T>(how: () => Promise<T>): Promise<T> => {
      link.sever();
      try {
        return await how();
      } finally {
        owned.delete(id);
      }
    };
    const sandbox: BuildSandbox = {
      link,
      harvest: (directory) => end(() => instance.harvest(directory)),
      discard: () => end(() => instance.destroy()),
    };
    try {
      signal.throwIfAborted();
      await initDaemon(instance, { sandboxId: id, templateId, envVars: {}, ...network?.init(id) }, INIT_TIMEOUT_MS);
      signal.throwIfAborted();
      network?.open(link);
      return sandbox;
    } catch (error) {
      await sandbox.discard();
      throw error;
    }
  } catch (error) {
    owned.delete(id);
    throw error;
  }
}
