import type { IncomingHttpHeaders } from "node:http";
import { InvalidArgumentError } from "../../errors/error-classes.js";

const PREFIX = "x-metadata-";
const MAX_KEY = 246; // 255 bytes of an attribute's name, less `user.e2b.`
const MAX_TOTAL = 4096;

/**
 * The metadata of an upload: each header `X-Metadata-<key>`, keys in lower case.
 *
 * @throws {@link InvalidArgumentError} an empty or too long key, a value that is not printable ASCII, or more than 4096 bytes in all.
 */
export function parseUploadMetadata(headers: IncomingHttpHeaders): Record<string, string> {
  const entries: [string, string][] = [];
  let total = 0;
  for (const [name, header] of Object.entries(headers)) {
    if (!name.startsWith(PREFIX)) continue;
    const key = name.slice(PREFIX.length);
    const value = Array.isArray(header) ? header.join(", ") : (header ?? "");
    if (key === "") throw new InvalidArgumentError("metadata header 'X-Metadata-' has no key after it");
    if (key.length > MAX_KEY) throw new InvalidArgumentError(`metadata key '${key.slice(0, 32)}…' is longer than ${MAX_KEY} characters`);
    if (!/^[\x20-\x7e]*$/.test(value)) throw new InvalidArgumentError(`metadata '${key}' may hold printable ASCII only`);
    total += key.length + value.length;
    entries.push([key, value]);
  }
  if (total > MAX_TOTAL) throw new InvalidArgumentError(`metadata has ${total} bytes in all, at most ${MAX_TOTAL} are kept`);
  return Object.fromEntries(entries);
}
