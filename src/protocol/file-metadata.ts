import { InvalidArgumentError } from "../errors/error-classes.js";

const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\x20-\x7e]*$/;
const MAX_KEY_LENGTH = 246;
const MAX_TOTAL_BYTES = 4096;

/**
 * The headers that store labels with a file. Keys are lower-cased by the daemon.
 *
 * @throws {@link InvalidArgumentError} a key is not an HTTP token or a value not printable ASCII.
 */
export function toMetadataHeaders(metadata: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  let totalBytes = 0;
  for (const [key, value] of Object.entries(metadata ?? {})) {
    if (!KEY.test(key) || key.length > MAX_KEY_LENGTH) {
      throw new InvalidArgumentError(
        `metadata key ${JSON.stringify(key)} must be 1 to ${MAX_KEY_LENGTH} letters, digits or any of !#$%&'*+.^_\`|~-`,
      );
    }
    // A `$` in the pattern would let a final newline pass, so the length of the match is compared.
    if (typeof value !== "string" || VALUE.exec(value)?.[0].length !== value.length) {
      throw new InvalidArgumentError(`metadata value of ${JSON.stringify(key)} must be printable ASCII on one line`);
    }
    totalBytes += key.length + value.length;
    headers[`x-metadata-${key.toLowerCase()}`] = value;
  }
  if (totalBytes > MAX_TOTAL_BYTES) throw new InvalidArgumentError(`metadata is ${totalBytes} bytes; at most ${MAX_TOTAL_BYTES} are kept`);
  return headers;
}
