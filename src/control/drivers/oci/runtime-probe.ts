import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";

/** An OCI runtime on this machine and whether it runs a sandbox here. */
export interface RuntimeProbe {
  /** `crun` or `runc`. */
  readonly name: string;
  readonly path: string;
  readonly version: string;
  /** What a real sandbox with our bundle answered; absent: it ran. */
  readonly failure?: string;
}

/** In order of preference: crun is three times as fast. */
export const RUNTIME_NAMES: readonly string[] = ["crun", "runc"];
/** Those that can be asked for. gVisor is never chosen by itself: it isolates more, and starts and runs more slowly. */
export const ALL_RUNTIME_NAMES: readonly string[] = [...RUNTIME_NAMES, "runsc"];

const SYSTEM_DIRECTORIES = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin"];

/** Those of the named runtimes that are on this machine, in the same order. */
export function findRuntimes(
  names: readonly string[],
  searchPath: string = process.env.PATH ?? "",
): { readonly name: string; readonly path: string }[] {
  const directories = [...new Set([...searchPath.split(delimiter), ...SYSTEM_DIRECTORIES])].filter((directory) => directory !== "");
  return names.flatMap((name) => {
    const path = directories.map((directory) => join(directory, name)).find(isExecutableFile);
    return path === undefined ? [] : [{ name, path }];
  });
}

/** Remembers probes by what their result depends on: the binary, the kernel and how cgroups are mounted. */
export class ProbeCache {
  readonly #file: string;
  readonly #machine: string;

  constructor(file: string, cgroupMode: string) {
    this.#file = file;
    this.#machine = `${release()} ${cgroupMode}`;
  }

  /** A probe that failed is never remembered, so that what was wrong may be put right. */
  async get(path: string, probe: () => Promise<RuntimeProbe>): Promise<RuntimeProbe> {
    const entries = this.#read();
    const { mtimeMs, size } = statSync(path);
    const key = `${path} ${size} ${mtimeMs} ${this.#machine}`;
    const known = entries[key];
    if (known !== undefined) return known;
    const result = await probe();
    if (result.failure === undefined) this.#write({ ...entries, [key]: result });
    return result;
  }

  #read(): Readonly<Record<string, RuntimeProbe>> {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as Record<string, RuntimeProbe>;
    } catch {
      return {};
    }
  }

  #write(entries: Readonly<Record<string, RuntimeProbe>>): void {
    const staged = `${this.#file}.${process.pid}`;
    writeFileSync(staged, JSON.stringify(entries));
    renameSync(staged, this.#file);
  }
}

function isExecutableFile(path: string): boolean {
  try {
    const stat = statSync(path);
    return stat.isFile() && (stat.mode & 0o111) !== 0;
  } catch {
    return false;
  }
}
