import type { IgnoreRules } from "./ignore-rules.js";
import { encodeTarEntry, padded, TAR_BLOCK_BYTES } from "./tar-header.js";
import { readTar } from "./tar-reader.js";

/** A tar archive without the entries that the rules name, with all that is below them, and without pipes and devices. */
export async function* filterTar(source: AsyncIterable<Uint8Array>, rules: IgnoreRules): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { entry, body } of readTar(source)) {
    const names = entry.path.split("/").filter((name) => name !== "" && name !== ".");
    const { kind } = entry;
    if (kind === "other" || names.length === 0 || names.includes("..") || isLeftOut(names, kind === "directory", rules)) continue;
    yield encodeTarEntry({ ...entry, kind });
    yield* body;
    yield new Uint8Array(padded(entry.sizeBytes) - entry.sizeBytes);
  }
  yield new Uint8Array(2 * TAR_BLOCK_BYTES);
}

function isLeftOut(names: readonly string[], isDirectory: boolean, rules: IgnoreRules): boolean {
  return names.some((_, index) => rules.isIgnored(names.slice(0, index + 1).join("/"), index < names.length - 1 || isDirectory));
}
