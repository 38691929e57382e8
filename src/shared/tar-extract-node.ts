import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { AlreadyExistsError, InvalidArgumentError } from "../errors/error-classes.js";
import { ArchivePath, isInsideLink } from "./archive-path.js";
import { FileWriter } from "./file-writer-node.js";
import { reclaimBuffers } from "./reclaim-buffers-node.js";
import type { TarEntry } from "./tar-header.js";
import { readTar, type TarMember } from "./tar-reader.js";

/** What happens with symbolic links that lead out of the directory. */
export type OutsideLinks = "refuse" | "skip" | "keep";

export interface ExtractOptions {
  readonly outsideLinks: OutsideLinks;
  /** Entries to leave out, by their path in the archive. */
  readonly isIgnored?: ((path: string, isDirectory: boolean) => boolean) | undefined;
  /** Owner of everything that is made. @defaultValue whoever runs this */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Called after each entry, and after each piece of a large file. */
  readonly onProgress?: ((path: string, bytes: number, isComplete: boolean) => void) | undefined;
  /** Name under which the new content of an existing file grows, beside the file. */
  readonly stagedPath: (path: string) => string;
}

const PERMISSION_BITS = 0o777;
const SMALL_BYTES = 64 * 1024;

/**
 * Unpack a tar archive into the existing directory `root`: files, directories, symbolic and hard links, with their permission bits and
 * times. Owners, setuid bits, pipes and devices of the archive are left out.
 *
 * Nothing outside of `root` is ever touched: names that lead out are refused, and no link below `root` is followed, whether it comes
 * from the archive or was there before. An existing file or link is replaced once its new content is complete; existing directories
 * keep their permission bits. When it fails, what was complete stays.
 *
 * @throws {@link InvalidArgumentError} the archive is malformed, or an entry leads out of `root` or through a link;
 * {@link AlreadyExistsError} a file takes the place of a directory or the other way round; the system error; what `source` throws.
 */
export async function extractTar(source: AsyncIterable<Uint8Array>, root: string, options: ExtractOptions): Promise<void> {
  const extractor = new Extractor(realpathSync(root), options);
  for await (const member of readTar(source)) await extractor.extract(member);
  extractor.finish();
}

class Extractor {
  readonly #root: string;
  readonly #options: ExtractOptions;
  /** Directories that are known to be no links, by path in the archive. */
  readonly #directories = new Set<string>([""]);
  /** Directories that this extraction made: their mode and time are set last, as writing into them changes both. */
  readonly #made: { readonly target: string; readonly entry: TarEntry }[] = [];

  constructor(root: string, options: ExtractOptions) {
    this.#root = root;
    this.#options = options;
  }

  async extract({ entry, body }: TarMember): Promise<void> {
    const path = ArchivePath.parse(entry.path);
    assertNative(entry);
    if (path.isRoot || entry.kind === "other") return;
    if (this.#options.isIgnored !== undefined && this.#isIgnored(path, entry.kind === "directory")) return;
    this.#enter(path.parent);
    const target = this.#target(path);
    switch (entry.kind) {
      case "directory":
        this.#makeDirectory(path, entry);
        break;
      case "symlink":
        if (!this.#admitsLink(path, entry.linkPath)) return;
        this.#place(target, (free) => symlinkSync(entry.linkPath, free));
        this.#own(target);
        lutimesSync(target, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
        break;
      case "hardlink":
        this.#placeHardLink(target, entry);
        break;
      case "file":
        await this.#writeFile(target, entry, path, body);
        break;
    }
    if (entry.kind !== "file" || entry.sizeBytes === 0) this.#options.onProgress?.(path.text, 0, true);
  }

  finish(): void {
    // Deepest first: what is below may need the permission that its parent gives up.
    for (const { target, entry } of this.#made.reverse()) {
      chmodSync(target, entry.mode & PERMISSION_BITS);
      utimesSync(target, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
    }
  }

  #target(path: ArchivePath): string {
    return join(this.#root, ...path.names);
  }

  #isIgnored(path: ArchivePath, isDirectory: boolean): boolean {
    const { isIgnored } = this.#options;
    return path.ancestors.some((ancestor) => isIgnored?.(ancestor.text, true)) || (isIgnored?.(path.text, isDirectory) ?? false);
  }

  /** Make sure that each directory on the way is one, and make those that are missing. */
  #enter(path: ArchivePath): void {
    if (this.#directories.has(path.text)) return;
    for (const directory of [...path.ancestors, path]) {
      if (this.#directories.has(directory.text)) continue;
      const target = this.#target(directory);
      const stats = statIfPresent(target);
      if (stats === undefined) this.#newDirectory(target, 0o755);
      else if (stats.isSymbolicLink()) {
        throw new InvalidArgumentError(`refusing to unpack through the link '${target}': remove the link, or unpack to another directory`);
      } else if (!stats.isDirectory()) throw new AlreadyExistsError(`'${target}' is a file, and the archive has a directory there`);
      this.#directories.add(directory.text);
    }
  }

  #makeDirectory(path: ArchivePath, entry: TarEntry): void {
    const target = this.#target(path);
    if (statIfPresent(target) !== undefined) {
      this.#enter(path);
      return;
    }
    // Writable until everything is in it.
    this.#newDirectory(target, (entry.mode & PERMISSION_BITS) | 0o700);
    this.#directories.add(path.text);
    this.#made.push({ target, entry });
  }

  #newDirectory(target: string, mode: number): void {
    mkdirSync(target, mode);
    this.#own(target);
  }

  #admitsLink(path: ArchivePath, linkPath: string): boolean {
    const { outsideLinks } = this.#options;
    if (outsideLinks === "keep" || isInsideLink(path, linkPath)) return true;
    if (outsideLinks === "skip") return false;
    throw new InvalidArgumentError(
      `refusing the link '${path.text}', which leads out of the directory to '${linkPath}': set outsideLinks to "skip" or "keep"`,
    );
  }

  #placeHardLink(target: string, entry: TarEntry): void {
    const first = ArchivePath.parse(entry.linkPath);
    this.#enter(first.parent);
    const source = this.#target(first);
    if (!statIfPresent(source)?.isFile()) {
      throw new InvalidArgumentError(`the archive links '${entry.path}' to '${entry.linkPath}', which is no file of it`);
    }
    if (source !== target) this.#place(target, (free) => linkSync(source, free));
  }

  async #writeFile(target: string, entry: TarEntry, path: ArchivePath, body: AsyncIterable<Uint8Array>): Promise<void> {
    const isNew = statIfPresent(target) === undefined;
    if (!isNew) assertReplaceable(target);
    const free = isNew ? target : this.#options.stagedPath(target);
    try {
      if (entry.sizeBytes <= SMALL_BYTES) await this.#writeSmall(free, entry, path, body);
      else await this.#writeLarge(free, entry, path, body);
      if (!isNew) renameSync(free, target);
    } catch (error) {
      rmSync(free, { force: true });
      throw error;
    }
  }

  /** Synchronous: for a small file the calls cost less than their trips through the thread pool. */
  async #writeSmall(free: string, entry: TarEntry, path: ArchivePath, body: AsyncIterable<Uint8Array>): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const fd = openSync(free, NEW_FILE, 0o600);
    try {
      for (const chunk of chunks) writeWhole(fd, chunk);
      this.#settle(fd, entry);
    } finally {
      closeSync(fd);
    }
    reclaimBuffers(entry.sizeBytes);
    if (entry.sizeBytes > 0) this.#options.onProgress?.(path.text, entry.sizeBytes, true);
  }

  async #writeLarge(free: string, entry: TarEntry, path: ArchivePath, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { onProgress } = this.#options;
    const file = await open(free, NEW_FILE, 0o600);
    const writer = new FileWriter(file);
    try {
      let left = entry.sizeBytes;
      for await (const chunk of body) {
        await writer.add(chunk);
        left -= chunk.length;
        onProgress?.(path.text, chunk.length, left === 0);
      }
      await writer.finish();
      this.#settle(file.fd, entry);
    } catch (error) {
      await writer.abandon();
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Owner first: changing it clears bits of the mode. */
  #settle(fd: number, entry: TarEntry): void {
    const { owner } = this.#options;
    if (owner !== undefined) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, entry.mode & PERMISSION_BITS);
    futimesSync(fd, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
  }

  #own(target: string): void {
    const { owner } = this.#options;
    if (owner !== undefined) lchownSync(target, owner.uid, owner.gid);
  }

  /** Make a link at a free name and let it take the place of what is there. */
  #place(target: string, make: (free: string) => void): void {
    if (statIfPresent(target) === undefined) {
      make(target);
      return;
    }
    assertReplaceable(target);
    const staged = this.#options.stagedPath(target);
    make(staged);
    try {
      renameSync(staged, target);
    } finally {
      // Two names of one file: then rename(2) does nothing and leaves both.
      rmSync(staged, { force: true });
    }
  }
}

/** Fails where anything is at the path, a link too. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset);
}

/** On Windows two more characters separate names. */
function assertNative({ path, linkPath }: TarEntry): void {
  if (process.platform !== "win32" || !/[\\:]/.test(path + linkPath)) return;
  throw new InvalidArgumentError(`refusing the archive's entry ${JSON.stringify(path)}: this system cannot hold its name or link`);
}

function statIfPresent(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function assertReplaceable(target: string): void {
  if (lstatSync(target).isDirectory()) throw new AlreadyExistsError(`'${target}' is a directory, and the archive has a file or link there`);
}
