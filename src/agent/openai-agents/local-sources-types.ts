/** Where entries may take files of this machine from. */
export interface LocalSourceOptions {
  /** Directory that relative paths begin in. @defaultValue the working directory */
  readonly baseDir: string | undefined;
  /** Further directories that may be read. */
  readonly grantedDirs: readonly string[];
}
