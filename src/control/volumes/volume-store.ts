import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FailedPreconditionError, InvalidArgumentError, NotFoundError } from "../../errors/error-classes.js";
import { removeTree } from "../drivers/oci/sandbox-files.js";

/** A named directory that outlives sandboxes. */
export interface Volume {
  readonly id: string;
  readonly name: string;
  /** Host directory that is mounted into sandboxes. Everything in it is made by guests. */
  readonly contentDir: string;
}

/** Where and for whom volumes are kept. */
export interface VolumeStoreOptions {
  /** `<id>/` with `volume.json` and `content/`. */
  readonly directory: string;
  /** What tokens are derived from. */
  readonly secret: string;
  /** Host id of root inside every sandbox. */
  readonly hostIdBase: number;
  /** Ids of the volumes that a sandbox has mounted. */
  readonly mountedIds: () => ReadonlySet<string>;
}

const ID = /^vol[a-f0-9]{20}$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** Directories in the making or in removal, which a platform that was killed may leave. */
const HIDDEN = /^\.(?:new|old)-/;
/** The account `user` of templates. */
const OWNER_ID = 1_000;

/** The volumes of a platform, one directory each; a volume is there when its directory has its final name. */
export class VolumeStore {
  readonly #options: VolumeStoreOptions;

  constructor(options: VolumeStoreOptions) {
    this.#options = options;
  }

  /** Remove what an earlier platform left half-done. */
  async recover(): Promise<void> {
    const { directory } = this.#options;
    mkdirSync(directory, { recursive: true });
    // The runtime passes with the ids of a sandbox, which own nothing here.
    chmodSync(directory, 0o711);
    for (const name of readdirSync(directory)) if (HIDDEN.test(name)) await removeTree(join(directory, name));
  }

  /** By name. */
  list(): Volume[] {
    const { directory } = this.#options;
    const names = existsSync(directory) ? readdirSync(directory) : [];
    const volumes = names.flatMap((id) => this.#read(id) ?? []);
    return volumes.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws {@link NotFoundError} no volume with this id. */
  get(id: string): Volume {
    const volume = this.#read(id);
    if (volume === undefined) throw new NotFoundError(`volume "${id.slice(0, 100)}" was not found`);
    return volume;
  }

  /** @throws {@link InvalidArgumentError} no volume has this name. */
  findByName(name: string): Volume {
    const volume = this.list().find((candidate) => candidate.name === name);
    if (volume === undefined) throw new InvalidArgumentError(`there is no volume "${name.slice(0, 200)}"; create it first`);
    return volume;
  }

  /** @throws {@link InvalidArgumentError} malformed or taken name. */
  create(name: string): Volume {
    if (!NAME.test(name)) throw new InvalidArgumentError(`invalid volume name: expected ${NAME.source}`);
    if (this.list().some((volume) => volume.name === name)) throw new InvalidArgumentError(`a volume "${name}" exists already`);
    const { directory, hostIdBase } = this.#options;
    const id = `vol${randomBytes(10).toString("hex")}`;
    const staging = join(directory, `.new-${id}`);
    const content = join(staging, "content");
    mkdirSync(staging, { recursive: true });
    chmodSync(staging, 0o711);
    mkdirSync(content);
    chmodSync(content, 0o755);
    chownSync(content, hostIdBase + OWNER_ID, hostIdBase + OWNER_ID);
    writeFileSync(join(staging, "volume.json"), JSON.stringify({ name }), { mode: 0o600 });
    renameSync(staging, join(directory, id));
    return this.get(id);
  }

  /**
   * Remove a volume and everything in it.
   *
   * @throws {@link NotFoundError} no volume with this id; {@link FailedPreconditionError} a sandbox has it mounted.
   */
  async delete(id: string): Promise<void> {
    const { name } = this.get(id);
    if (this.#options.mountedIds().has(id)) {
      throw new FailedPreconditionError(`volume "${name}" is mounted in a sandbox; kill the sandbox first`);
    }
    const { directory } = this.#options;
    const old = join(directory, `.old-${id}`);
    renameSync(join(directory, id), old);
    await removeTree(old);
  }

  /** What a caller needs to reach the content of a volume. */
  tokenOf(id: string): string {
    return createHmac("sha256", this.#options.secret).update(`volume ${id}`).digest("hex");
  }

  /** Whether `token` is the token of the volume; takes as long for a wrong one. */
  isTokenOf(id: string, token: string): boolean {
    const [expected, presented] = [this.tokenOf(id), token].map((text) => createHmac("sha256", "compare").update(text).digest());
    return expected !== undefined && presented !== undefined && timingSafeEqual(expected, presented);
  }

  #read(id: string): Volume | undefined {
    // The form of an id also keeps every path inside of the directory.
    if (!ID.test(id)) return undefined;
    const directory = join(this.#options.directory, id);
    try {
      const { name } = JSON.parse(readFileSync(join(directory, "volume.json"), "utf8")) as { name: string };
      return { id, name, contentDir: join(directory, "content") };
    } catch {
      return undefined;
    }
  }
}
