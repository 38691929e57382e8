import {
  type FileContent,
  type FileData,
  type FileFormat,
  Volume as VolumeBase,
  type VolumeEntry,
  type VolumeInfo,
  type VolumeMetadata,
} from "../../index.js";
import { pickRequest } from "../../shared/pick-request.js";
import { type ConnectionOpts, withBound } from "./connection.js";
import { inFamily, VolumeError, VolumeNotFoundError, VolumePathNotFoundError } from "./errors.js";

/** Kind of an entry. */
export const VolumeFileType = { UNKNOWN: "unknown", FILE: "file", DIRECTORY: "directory", SYMLINK: "symlink" } as const;
export type VolumeFileType = (typeof VolumeFileType)[keyof typeof VolumeFileType];

/** A file, directory or link of a volume. */
export interface VolumeEntryStat {
  name: string;
  type: VolumeFileType;
  path: string;
  /** Bytes. */
  size: number;
  mode: number;
  uid: number;
  gid: number;
  atime: Date;
  mtime: Date;
  ctime: Date;
  target?: string;
}

/** What a call about the content takes; the volume knows where its content is, so only the request counts. */
export interface VolumeApiOpts extends ConnectionOpts {
  readonly token?: string | undefined;
}
/** Owner and permission bits of an entry. */
export type VolumeMetadataOpts = VolumeMetadata;
export interface VolumeReadOpts extends VolumeApiOpts {
  readonly streamIdleTimeoutMs?: number | undefined;
}
export interface VolumeWriteOpts extends VolumeMetadata {
  /** Make missing parents, and accept a directory that exists. @defaultValue false */
  readonly force?: boolean | undefined;
}
export interface VolumeAndToken extends VolumeInfo {
  readonly token: string;
}

const OF_VOLUME = { other: VolumeError, byReason: { not_found: VolumeNotFoundError } };
const OF_PATH = { other: VolumeError, byReason: { file_not_found: VolumePathNotFoundError, not_found: VolumeNotFoundError } };

/** Our {@link VolumeBase} with the options, fields and errors that programs for `e2b` know. */
export class Volume {
  /** Options under those of each call: what a class of {@link E2B} is bound to. */
  static readonly boundOpts: ConnectionOpts | undefined = undefined;
  readonly volumeId: string;
  readonly name: string;
  readonly #volume: VolumeBase;

  protected constructor(volume: VolumeBase) {
    this.volumeId = volume.volumeId;
    this.name = volume.name;
    this.#volume = volume;
  }

  /** Make a volume. @throws {@link VolumeError} the name is taken or malformed. */
  static async create(name: string, options?: ConnectionOpts): Promise<Volume> {
    return new this(await inFamily(OF_VOLUME, () => VolumeBase.create(name, withBound(this, options))));
  }

  /** Use a volume that exists. @throws {@link VolumeNotFoundError} there is none. */
  static async connect(volumeId: string, options?: ConnectionOpts): Promise<Volume> {
    return new this(await inFamily(OF_VOLUME, () => VolumeBase.connect(volumeId, withBound(this, options))));
  }

  /** Its name and the token of its content. @throws {@link VolumeNotFoundError} there is none. */
  static async getInfo(volumeId: string, options?: ConnectionOpts): Promise<VolumeAndToken> {
    const { name, token } = await inFamily(OF_VOLUME, () => VolumeBase.connect(volumeId, withBound(this, options)));
    return { volumeId, name, token };
  }

  /** All volumes. */
  static list(options?: ConnectionOpts): Promise<VolumeInfo[]> {
    return inFamily(OF_VOLUME, () => VolumeBase.list(withBound(this, options)));
  }

  /** Delete it with its content; false when there was none. */
  static destroy(volumeId: string, options?: ConnectionOpts): Promise<boolean> {
    return inFamily(OF_VOLUME, () => VolumeBase.destroy(volumeId, withBound(this, options)));
  }

  /** Opens the content of the volume, and nothing else. */
  get token(): string {
    return this.#volume.token;
  }

  /** Entries below a directory. @defaultValue `depth` is 1 */
  async list(path: string, options: VolumeApiOpts & { readonly depth?: number | undefined } = {}): Promise<VolumeEntryStat[]> {
    const entries = await inFamily(OF_PATH, () => this.#volume.list(path, { ...pickRequest(options), depth: options.depth }));
    return entries.map(toStat);
  }

  /** Make a directory. @throws {@link VolumeError} it exists, and `force` is not set. */
  async makeDir(path: string, options: VolumeWriteOpts & VolumeApiOpts = {}): Promise<VolumeEntryStat> {
    return toStat(await inFamily(OF_PATH, () => this.#volume.makeDir(path, pickWrite(options))));
  }

  /** Facts about an entry. @throws {@link VolumePathNotFoundError} there is none. */
  async getInfo(path: string, options: VolumeApiOpts = {}): Promise<VolumeEntryStat> {
    return toStat(await inFamily(OF_PATH, () => this.#volume.getInfo(path, pickRequest(options))));
  }

  /** Whether there is an entry of this path. */
  exists(path: string, options: VolumeApiOpts = {}): Promise<boolean> {
    return inFamily(OF_PATH, () => this.#volume.exists(path, pickRequest(options)));
  }

  /** Change owner and permission bits. @throws {@link VolumePathNotFoundError} there is no such entry. */
  async updateMetadata(path: string, metadata: VolumeMetadataOpts, options: VolumeApiOpts = {}): Promise<VolumeEntryStat> {
    return toStat(await inFamily(OF_PATH, () => this.#volume.updateMetadata(path, metadata, pickRequest(options))));
  }

  /** Read a file. @defaultValue `format` is "text" @throws {@link VolumePathNotFoundError} there is none. */
  readFile<Format extends FileFormat = "text">(
    path: string,
    options: VolumeReadOpts & { readonly format?: Format | undefined } = {},
  ): Promise<FileContent[Format]> {
    return inFamily(OF_PATH, () => this.#volume.readFile<Format>(path, { ...pickRequest(options), format: options.format }));
  }

  /** Write a file whole, from text, bytes, a Blob or a stream. */
  async writeFile(path: string, data: FileData, options: VolumeWriteOpts & VolumeApiOpts = {}): Promise<VolumeEntryStat> {
    return toStat(await inFamily(OF_PATH, () => this.#volume.writeFile(path, data, pickWrite(options))));
  }

  /** Remove a file, or a directory with what is in it. @throws {@link VolumePathNotFoundError} there is none. */
  remove(path: string, options: VolumeApiOpts = {}): Promise<void> {
    return inFamily(OF_PATH, () => this.#volume.remove(path, pickRequest(options)));
  }
}

function pickWrite({ uid, gid, mode, force, ...options }: VolumeWriteOpts & VolumeApiOpts) {
  return { uid, gid, mode, force, ...pickRequest(options) };
}

function toStat({ name, type, path, sizeBytes, mode, uid, gid, accessedAt, modifiedAt, changedAt, target }: VolumeEntry): VolumeEntryStat {
  const times = { atime: accessedAt, mtime: modifiedAt, ctime: changedAt };
  return { name, type, path, size: sizeBytes, mode, uid, gid, ...times, ...(target !== undefined && { target }) };
}
