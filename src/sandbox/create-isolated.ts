import { FailedPreconditionError, InvalidArgumentError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { HostMount, IsolationLevel } from "../protocol/isolation-types.js";
import type { LifecycleClient } from "../protocol/lifecycle-client.js";
import type { NewSandboxSpec, SandboxAccess, VolumeMountInfo } from "../protocol/lifecycle-types.js";
import { assertText } from "../shared/text-check.js";
import type { RequestOptions } from "../transport/config.js";

/** What of the outside a sandbox sees, and how strong its wall must be. */
export interface SandboxBoundaryOptions {
  /** Volumes by the absolute path inside: a volume or its name. */
  readonly volumeMounts?: Readonly<Record<string, string | { readonly name: string }>> | undefined;
  /** Directories of this machine. Local platform only. */
  readonly mounts?: readonly HostMount[] | undefined;
  /** Make no sandbox rather than one behind a weaker wall; also on a server that does not know the option. @defaultValue any */
  readonly minimumIsolation?: IsolationLevel | undefined;
}

/** Weakest first. */
const LEVELS: readonly IsolationLevel[] = ["container", "gvisor", "vm"];

/** Check the options and put them into the form of the wire. @throws {@link InvalidArgumentError} one is malformed. */
export function toBoundarySpec(options: SandboxBoundaryOptions): Pick<NewSandboxSpec, "volumeMounts" | "mounts" | "minimumIsolation"> {
  const { volumeMounts, mounts, minimumIsolation } = options;
  if (minimumIsolation !== undefined && !LEVELS.includes(minimumIsolation)) {
    throw new InvalidArgumentError(`minimumIsolation must be one of ${LEVELS.join(", ")}, not ${JSON.stringify(minimumIsolation)}`);
  }
  for (const { hostPath, path } of mounts ?? []) {
    assertText("mounts.hostPath", hostPath);
    assertText("mounts.path", path);
  }
  return {
    volumeMounts: volumeMounts === undefined ? undefined : Object.entries(volumeMounts).map(toVolumeMount),
    mounts,
    minimumIsolation,
  };
}

/**
 * Kill a new sandbox that is not isolated as was asked for. A server that knows the option refuses by itself; one that does not ignores it.
 *
 * @throws {@link FailedPreconditionError} the wall is weaker, or the server does not tell.
 */
export async function assertIsolated(
  lifecycle: LifecycleClient,
  { sandboxId }: SandboxAccess,
  minimum: IsolationLevel,
  options: RequestOptions,
): Promise<void> {
  try {
    const { level } = await lifecycle.getIsolation(sandboxId, options);
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(minimum)) return;
    throw new FailedPreconditionError(`minimumIsolation is "${minimum}", but the sandbox has "${level}"; it was killed`, { sandboxId });
  } catch (error) {
    await lifecycle.kill(sandboxId, {});
    // Of a sandbox that was made a moment ago, a 404 says that the server has no such route.
    if (!SandboxError.isInstance(error) || !["sandbox_not_found", "unimplemented"].includes(error.reason)) throw error;
    throw new FailedPreconditionError("the server does not tell how its sandboxes are isolated, so minimumIsolation cannot be kept", {
      operation: "sandbox.create",
      sandboxId,
      cause: error,
    });
  }
}

function toVolumeMount([path, volume]: [string, string | { readonly name: string }]): VolumeMountInfo {
  const name = typeof volume === "string" ? volume : volume.name;
  assertText("the name of a volume", name);
  assertText("the path of a volume", path);
  return { name, path };
}
