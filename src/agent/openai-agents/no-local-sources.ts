import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { LocalSourceOptions } from "./local-sources-types.js";

/** There are no local files outside of Node. */
export async function readLocalFile(src: string, _options: LocalSourceOptions): Promise<Uint8Array> {
  throw unavailable("local_file", src);
}

/** There are no local directories outside of Node. */
export async function openLocalDir(src: string, _options: LocalSourceOptions): Promise<AsyncIterable<Uint8Array>> {
  throw unavailable("local_dir", src);
}

function unavailable(kind: string, src: string): FailedPreconditionError {
  return new FailedPreconditionError(`${kind} ${src}: files of this machine can be read on Node only; use entries of the kind file`);
}
