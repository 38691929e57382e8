import { InvalidArgumentError } from "../errors/error-classes.js";

/**
 * Read the `metadata` query of a list: `key=value` pairs joined by `&`, in the text left after the normal decoding of the query.
 *
 * Clients encode keys and values two times more than a query needs, so both the whole and each part are decoded again.
 *
 * @throws {@link InvalidArgumentError} a part is not `key=value`.
 */
export function parseMetadataFilter(text: string): Record<string, string> {
  const filter = new Map<string, string>();
  for (const part of decode(text).split("&")) {
    if (part === "") continue;
    const [key, value, ...more] = part.split("=");
    if (key === undefined || value === undefined || more.length > 0) {
      throw new InvalidArgumentError(
        `metadata must be key=value pairs joined by &, got "${part}"; percent-encode = and & in keys and values`,
      );
    }
    filter.set(decode(key), decode(value));
  }
  // An assignment to "__proto__" would be lost, and a filter without a condition fits everything.
  return Object.fromEntries(filter);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new InvalidArgumentError("metadata has a malformed percent-encoding");
  }
}
