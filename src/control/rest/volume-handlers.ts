import type { components } from "../../../gen/openapi/lifecycle.js";
import { PermissionDeniedError } from "../../errors/error-classes.js";
import type { SandboxMount } from "../sandbox-record.js";
import { resolveHostMount } from "../volumes/host-mount.js";
import { assertMountTargets } from "../volumes/mount-target.js";
import type { Volume, VolumeStore } from "../volumes/volume-store.js";
import type { Handlers } from "./operation-types.js";

type Wire = components["schemas"];

export interface VolumeHandlerParts {
  readonly volumes: VolumeStore;
  /** Users whose directories may be mounted. */
  readonly ownerIds: readonly number[];
  /** Directories of the platform, which may not be. */
  readonly ownDirs: readonly string[];
}

type VolumeOperation = "listVolumes" | "createVolume" | "getVolume" | "deleteVolume";

/** The operations on volumes as a whole. */
export function createVolumeHandlers({ volumes }: VolumeHandlerParts): Pick<Handlers, VolumeOperation> {
  const toAccess = ({ id, name }: Volume) => ({ volumeID: id, name, token: volumes.tokenOf(id) });
  return {
    listVolumes: () => ({ status: 200, body: volumes.list().map(({ id, name }) => ({ volumeID: id, name })) }),
    createVolume: ({ body }) => ({ status: 201, body: toAccess(volumes.create(body.name)) }),
    getVolume: ({ path }) => ({ status: 200, body: toAccess(volumes.get(path.volumeID)) }),
    deleteVolume: async ({ path }) => {
      await volumes.delete(path.volumeID);
      return { status: 204 };
    },
  };
}

/**
 * What a creation wants mounted.
 *
 * @param isSameMachine the caller reached the platform over loopback.
 * @throws {@link InvalidArgumentError} an unknown volume or a bad path; {@link PermissionDeniedError} a directory of the machine that the
 * caller may not give away.
 */
export function resolveMounts(
  { volumeMounts = [], mounts = [] }: Pick<Wire["NewSandboxCommon"], "volumeMounts" | "mounts">,
  { volumes, ownerIds, ownDirs }: VolumeHandlerParts,
  isSameMachine: boolean,
): SandboxMount[] {
  assertMountTargets([...volumeMounts, ...mounts].map(({ path }) => path));
  if (mounts.length > 0 && !isSameMachine) {
    throw new PermissionDeniedError("mounts is for callers on the machine of the platform only; use volumes, or upload the files");
  }
  return [
    ...volumeMounts.map(({ name, path }) => {
      const { id, contentDir } = volumes.findByName(name);
      return { volume: { id, name }, source: contentDir, target: path, readOnly: false };
    }),
    ...mounts.map(({ hostPath, path, readOnly = true }) => resolveHostMount({ hostPath, path, readOnly }, ownerIds, ownDirs)),
  ];
}
