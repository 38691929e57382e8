import { InvalidArgumentError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { type FileData, toFileBody } from "../protocol/file-data.js";
import type {
  VolumeAccess,
  VolumeContent,
  VolumeEntry,
  VolumeInfo,
  VolumeMetadata,
  VolumeWriteOptions,
} from "../protocol/volume-client.js";
import { toReadableStream } from "../shared/byte-stream.js";
import { assertText } from "../shared/text-check.js";
import type { ConnectionOptions, RequestOptions } from "../transport/config.js";
import type { FileContent, FileFormat } from "./files.js";
import { openVolumes } from "./open-sandbox.js";

/** How a directory of a volume is listed. */
export interface VolumeListOptions extends RequestOptions {
  /** Levels to list; 1 is the directory itself. @defaultValue 1 */
  readonly depth?: number | undefined;
}

/** How a file of a volume is read. */
export interface VolumeReadOptions<Format extends FileFormat = FileFormat> extends RequestOptions {
  /** @defaultValue "text" */
  readonly format?: Format | undefined;
}

/**
 * A named directory that outlives sandboxes and that several of them can share: mount it with `volumeMounts` of `Sandbox.create`, read and write it
 * from outside with the methods here. Paths start at its root.
 */
export class Volume {
  readonly volumeId: string;
  readonly name: string;
  // Private, so that no credential shows up when the object is printed or serialised.
  readonly #access: VolumeAccess;
  readonly #content: VolumeContent;

  private constructor(access: VolumeAccess, content: VolumeContent) {
    this.volumeId = access.volumeId;
    this.name = access.name;
    this.#access = access;
    this.#content = content;
  }

  /** Make an empty volume. @throws {@link InvalidArgumentError} the name is malformed or taken. */
  static async create(name: string, options: ConnectionOptions = {}): Promise<Volume> {
    assertText("name", name);
    const volumes = await openVolumes(options);
    const access = await volumes.create(name, options);
    return new Volume(access, volumes.open(access));
  }

  /** Open a volume by its id. @throws {@link NotFoundError} there is none. */
  static async connect(volumeId: string, options: ConnectionOptions = {}): Promise<Volume> {
    const volumes = await openVolumes(options);
    const access = await volumes.get(checkId(volumeId), options);
    return new Volume(access, volumes.open(access));
  }

  /** Describe a volume. @throws {@link NotFoundError} there is none. */
  static async getInfo(volumeId: string, options: ConnectionOptions = {}): Promise<VolumeInfo> {
    const { name } = await (await openVolumes(options)).get(checkId(volumeId), options);
    return { volumeId, name };
  }

  /** All volumes, by name. */
  static async list(options: ConnectionOptions = {}): Promise<VolumeInfo[]> {
    return (await openVolumes(options)).list(options);
  }

  /** Delete a volume and everything in it. False when there was none. @throws {@link FailedPreconditionError} a sandbox has it mounted. */
  static async destroy(volumeId: string, options: ConnectionOptions = {}): Promise<boolean> {
    return (await openVolumes(options)).delete(checkId(volumeId), options);
  }

  /** Opens the content of this volume to whoever has it. */
  get token(): string {
    return this.#access.token;
  }

  /** List a directory. @throws {@link FileNotFoundError} there is none. */
  list(path: string, { depth, ...options }: VolumeListOptions = {}): Promise<VolumeEntry[]> {
    return this.#content.list(checkPath(path), depth, options);
  }

  /** Make a directory. @throws {@link InvalidArgumentError} it exists; {@link FileNotFoundError} its parent does not. */
  makeDir(path: string, options: VolumeWriteOptions = {}): Promise<VolumeEntry> {
    return this.#content.makeDirectory(checkPath(path), options);
  }

  /** Describe a file, directory or link. @throws {@link FileNotFoundError} there is none. */
  getInfo(path: string, options: RequestOptions = {}): Promise<VolumeEntry> {
    return this.#content.stat(checkPath(path), options);
  }

  /** Whether something is at the path. */
  async exists(path: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      await this.getInfo(path, options);
      return true;
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "file_not_found") return false;
      throw error;
    }
  }

  /** Change owner, group or permissions; what is left out stays. */
  updateMetadata(path: string, metadata: VolumeMetadata, options: RequestOptions = {}): Promise<VolumeEntry> {
    return this.#content.update(checkPath(path), metadata, options);
  }

  /** Read a file. @throws {@link FileNotFoundError} there is none. */
  async readFile<Format extends FileFormat = "text">(
    path: string,
    { format, ...options }: VolumeReadOptions<Format> = {},
  ): Promise<FileContent[Format]> {
    const wanted: FileFormat = format ?? "text";
    const body = await this.#content.read(checkPath(path), options);
    const result = wanted === "stream" ? toReadableStream(body.chunks) : toFormat((await body.bytes()) as Uint8Array<ArrayBuffer>, wanted);
    return result as FileContent[Format]; // `wanted` is Format
  }

  /** Write a file; it appears when all of it has arrived. @throws {@link NotEnoughSpaceError} the disk is full. */
  writeFile(path: string, data: FileData, options: VolumeWriteOptions = {}): Promise<VolumeEntry> {
    return this.#content.write(checkPath(path), toFileBody(data), options);
  }

  /** Remove a file, a link or a directory with all that is in it. @throws {@link FileNotFoundError} there is none. */
  remove(path: string, options: RequestOptions = {}): Promise<void> {
    return this.#content.remove(checkPath(path), options);
  }
}

function toFormat(bytes: Uint8Array<ArrayBuffer>, format: Exclude<FileFormat, "stream">): string | Uint8Array<ArrayBuffer> | Blob {
  if (format === "bytes") return bytes;
  return format === "blob" ? new Blob([bytes]) : new TextDecoder().decode(bytes);
}

function checkPath(path: string): string {
  assertText("path", path);
  if (path === "") throw new InvalidArgumentError('path must not be empty; the root of a volume is "/"');
  return path;
}

function checkId(volumeId: string): string {
  assertText("volumeId", volumeId);
  if (volumeId === "") throw new InvalidArgumentError("volumeId must not be empty");
  return volumeId;
}
