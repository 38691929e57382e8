import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath, rename, unlink } from "node:fs/promises";
import { posix } from "node:path";
import { InvalidArgumentError } from "../errors/error-classes.js";
import { type ConfinedEntry, openConfined } from "../shared/confined-path-node.js";

/** A place below the base directory. */
export interface ConfinedPlace extends ConfinedEntry {
  /** Real absolute path, for answers. */
  readonly path: string;
}

export interface PlaceOptions {
  /** Follow a link at the end. @defaultValue true */
  readonly followsLast?: boolean;
  /** Make directories that are missing on the way. @defaultValue false */
  readonly createsParents?: boolean;
}

const OPEN_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const OPEN_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const DEFAULT_MODE = 0o644;

/**
 * Files below one directory. A path that leads out is refused, after its links are followed too; and when somebody changes a link between the
 * look and the use, the use still ends up inside.
 */
export class ConfinedFiles {
  readonly #baseDir: string;

  constructor(baseDir: string) {
    this.#baseDir = posix.resolve(baseDir);
  }

  /** Directory that relative paths are relative to. */
  get baseDir(): string {
    return this.#baseDir;
  }

  /** Whether a real absolute path is in the base directory. */
  async contains(realPath: string): Promise<boolean> {
    const base = await realpath(this.#baseDir);
    return realPath === base || realPath.startsWith(base === "/" ? "/" : `${base}/`);
  }

  /**
   * Open the place that a path leads to. Dispose it after use.
   *
   * @throws {@link InvalidArgumentError} the path leads out of the base directory; the system error of what is missing on the way.
   */
  async place(path: string, { followsLast = true, createsParents = false }: PlaceOptions = {}): Promise<ConfinedPlace> {
    if (path.includes("\0")) throw new InvalidArgumentError("the path holds a NUL character");
    const base = await realpath(this.#baseDir);
    const wanted = posix.resolve(this.#baseDir, path);
    const real =
      followsLast || wanted === this.#baseDir
        ? await realOf(wanted)
        : posix.join(await realOf(posix.dirname(wanted)), posix.basename(wanted));
    const relative = posix.relative(base, real);
    if (relative === ".." || relative.startsWith("../")) throw new InvalidArgumentError("Path escapes base directory");
    const entry = await openConfined(base, relative, { followsLast, ...(createsParents && { onMissing: async () => {} }) });
    return { ...entry, path: real, [Symbol.asyncDispose]: () => entry[Symbol.asyncDispose]() };
  }

  /** What is at the place; a link is described itself. @throws the system error `ENOENT`. */
  stat({ hostPath }: ConfinedPlace): Promise<Stats> {
    return lstat(hostPath);
  }

  /** Open a file to read. @throws {@link InvalidArgumentError} it is no file. */
  async openFile(place: ConfinedPlace): Promise<FileHandle> {
    const handle = await open(place.hostPath, OPEN_READ);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw new InvalidArgumentError(`'${place.path}' is no file`);
  }

  /** Write a file whole: whoever reads meanwhile sees the old one or the new one. An existing one keeps its mode. */
  async write(place: ConfinedPlace, bytes: Uint8Array): Promise<void> {
    const known = await lstat(place.hostPath).catch(() => undefined);
    if (known !== undefined && !known.isFile()) throw new InvalidArgumentError(`'${place.path}' is no file`);
    const staged = posix.join(posix.dirname(place.hostPath), `.upload-${crypto.randomUUID()}`);
    const handle = await open(staged, OPEN_NEW, DEFAULT_MODE);
    try {
      try {
        await handle.writeFile(bytes);
        if (known !== undefined) await handle.chmod(known.mode & 0o777);
      } finally {
        await handle.close();
      }
      await rename(staged, place.hostPath);
    } catch (error) {
      await unlink(staged).catch(() => {});
      throw error;
    }
  }
}

/** The path with the links of what exists of it followed. */
async function realOf(path: string): Promise<string> {
  const rest: string[] = [];
  for (let current = path; ; current = posix.dirname(current)) {
    try {
      return posix.join(await realpath(current), ...rest);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || current === "/") throw error;
      const isLink = await lstat(current).then(
        () => true,
        () => false,
      );
      // What such a link leads to may be anywhere, so nothing is made there.
      if (isLink) throw new InvalidArgumentError(`'${current}' is a link that leads nowhere`);
      rest.unshift(posix.basename(current));
    }
  }
}
