import type { Sandbox } from "../../sandbox/sandbox.js";

/** Directories of the kernel: without end, and no files of anybody. */
const VIRTUAL = new Set(["dev", "proc", "run", "sys"]);
/** Searched last, because whoever searches everything rather wants what was written in the sandbox. */
const OF_THE_SYSTEM = /^(bin|boot|etc|lib\w*|opt|sbin|usr|var)$/;

/** Where a search below an absolute path begins. Below `/` these are its entries, without those of the kernel and without links. */
export async function searchRoots(
  sandbox: Sandbox,
  path: string,
  options: { signal?: AbortSignal | undefined; user?: string | undefined },
): Promise<string[]> {
  if (path !== "/") return [path];
  const entries = await sandbox.files.list("/", options);
  const names = entries.filter(({ symlinkTarget }) => symlinkTarget === undefined).map(({ name }) => name);
  const wanted = names.filter((name) => !VIRTUAL.has(name));
  const isLate = (name: string) => OF_THE_SYSTEM.test(name);
  return [...wanted.filter((name) => !isLate(name)), ...wanted.filter(isLate)].map((name) => `/${name}`);
}
