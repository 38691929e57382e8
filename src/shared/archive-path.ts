import { InvalidArgumentError } from "../errors/error-classes.js";

/** The path of an archive's entry, which stays below the directory that the archive is unpacked to. */
export class ArchivePath {
  readonly names: readonly string[];

  private constructor(names: readonly string[]) {
    this.names = names;
  }

  /**
   * Split a path at its slashes; `.` and empty names count for nothing.
   *
   * @throws {@link InvalidArgumentError} it is absolute, or has `..` or NUL in it.
   */
  static parse(path: string): ArchivePath {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    if (path.startsWith("/") || names.includes("..") || path.includes("\0")) {
      throw new InvalidArgumentError(`refusing the archive's entry ${JSON.stringify(path)}, which leads out of the directory`);
    }
    return new ArchivePath(names);
  }

  get isRoot(): boolean {
    return this.names.length === 0;
  }

  get text(): string {
    return this.names.join("/");
  }

  get parent(): ArchivePath {
    return new ArchivePath(this.names.slice(0, -1));
  }

  /** From the first directory down to the parent; without the root. */
  get ancestors(): ArchivePath[] {
    return this.names.slice(0, -1).map((_, index) => new ArchivePath(this.names.slice(0, index + 1)));
  }
}

/**
 * True when a symbolic link at `path` with this target stays inside, whatever other links of the same kind are on its way.
 *
 * `..` may stand only at the beginning: there it starts from a directory that is known to be none of the links.
 */
export function isInsideLink(path: ArchivePath, target: string): boolean {
  if (target === "" || target.startsWith("/")) return false;
  const names = target.split("/").filter((name) => name !== "" && name !== ".");
  const ups = names.findIndex((name) => name !== "..");
  const count = ups < 0 ? names.length : ups;
  return count < path.names.length && !names.slice(count).includes("..");
}
