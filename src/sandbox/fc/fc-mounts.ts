import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { FcMountClient } from "../../protocol/fc-mount-client.js";
import { assertText } from "../../shared/text-check.js";
import type { RequestOptions } from "../../transport/config.js";
import { checkDistinct } from "./mount-rules.js";
import { type FcStorage, toStorageWire } from "./storage.js";

/** What can be mounted while a sandbox runs. */
export interface FcMountOptions extends Pick<FcStorage, "oss" | "agenticFs" | "agenticBucket"> {
  /** Volumes of the account by the absolute path inside. */
  readonly volumes?: Readonly<Record<string, string | { readonly name: string }>> | undefined;
}

/** The storage of a running sandbox of the FC service. */
export class FcMounts {
  readonly #client: FcMountClient;
  readonly #sandboxId: string;

  /** @internal */
  constructor(client: FcMountClient, sandboxId: string) {
    this.#client = client;
    this.#sandboxId = sandboxId;
  }

  /**
   * Mount storage. Nothing can be unmounted before the sandbox ends.
   *
   * @throws {@link InvalidArgumentError} a mount is malformed, is there already, or is one too many (five of a kind, the earlier ones included);
   * {@link FailedPreconditionError} the sandbox does not run, or was created without the role or the VPC that the storage needs.
   */
  async add(mounts: FcMountOptions, options: RequestOptions = {}): Promise<void> {
    const { oss, agenticFs, agenticBucket, volumes } = mounts;
    const storage = toStorageWire({ oss, agenticFs, agenticBucket });
    const named = Object.entries(volumes ?? {}).map(([path, volume]) => {
      const name = typeof volume === "string" ? volume : volume.name;
      assertText("the name of a volume", name);
      assertText("the path of a volume", path);
      return { name, path };
    });
    if (Object.keys(storage).length === 0 && named.length === 0) throw new InvalidArgumentError("mounts.add needs something to mount");
    const places = Object.values(storage).flatMap(({ mountPoints }) => mountPoints.map(({ mountDir }) => String(mountDir)));
    checkDistinct([...places, ...named.map(({ path }) => path)]);
    const inline = {
      ...(storage.oss && { oss: storage.oss }),
      ...(storage.agenticFs && { agenticFS: storage.agenticFs }),
      ...(storage.agenticBucket && { agenticBucket: storage.agenticBucket }),
    };
    const body = {
      ...(Object.keys(inline).length > 0 && { inlineVolumeMounts: inline }),
      ...(named.length > 0 && { namedVolumeMounts: named }),
    };
    await this.#client.add(this.#sandboxId, body, options);
  }
}
