import { InvalidArgumentError } from "../errors/error-classes.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { imageTypeOf } from "./image-type.js";

/** Largest file that is read whole. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Largest image: 5 MB in base64, above which providers of models refuse a whole conversation. */
const MAX_IMAGE_BYTES = 3_750_000;

export interface ReadTextOptions {
  readonly signal: AbortSignal | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
  /** Tool with which the model can look at what cannot be read here. @defaultValue "run_command" */
  readonly commandTool?: string | undefined;
}

/**
 * Read a file for a model: a text, or the bytes of an image.
 *
 * @throws {@link InvalidArgumentError} it is neither, or too large.
 */
export async function readTextFile(
  sandbox: Sandbox,
  path: string,
  { signal, user, commandTool = "run_command" }: ReadTextOptions,
): Promise<{ readonly text: string } | { readonly bytes: Uint8Array }> {
  const bytes = await sandbox.files.read(path, { format: "bytes", range: { start: 0, end: MAX_FILE_BYTES + 1 }, signal, user });
  if (bytes.length > MAX_FILE_BYTES) {
    throw new InvalidArgumentError(
      `${path} has more than ${MAX_FILE_BYTES} bytes; look at parts of it with ${commandTool}, for example head, tail or grep`,
    );
  }
  if (imageTypeOf(bytes) !== undefined) {
    if (bytes.length <= MAX_IMAGE_BYTES) return { bytes };
    throw new InvalidArgumentError(
      `${path} is an image of ${bytes.length} bytes, and ${MAX_IMAGE_BYTES} are the most that a model takes; make it smaller with run_command`,
    );
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes("\0")) return { text };
  } catch {
    // Told below, as for a text with NUL.
  }
  throw new InvalidArgumentError(
    `${path} holds ${bytes.length} bytes that are no text; look at it with ${commandTool}, for example file or xxd`,
  );
}
