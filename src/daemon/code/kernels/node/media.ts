import { inspect } from "node:util";

/** A value by media type. */
export type MediaBundle = Readonly<Record<string, unknown>>;

/** Method by which a value says how it is shown; other JavaScript kernels know it too. */
const DISPLAY = Symbol.for("Jupyter.display");
const MAX_JSON_CHARACTERS = 1_000_000;

/** How a value is shown. */
export async function toMedia(value: unknown): Promise<MediaBundle> {
  const own = typeof value === "object" && value !== null ? (value as { readonly [DISPLAY]?: unknown })[DISPLAY] : undefined;
  if (typeof own === "function") return (await own.call(value)) as MediaBundle;
  // One pair of quotes is taken off at the other end.
  if (typeof value === "string") return { "text/plain": `'${value}'` };
  const text = inspect(value, { colors: false, depth: 6, maxArrayLength: null, maxStringLength: null });
  const json = toJson(value);
  return { "text/plain": text, ...(json !== undefined && { "application/json": json }) };
}

/** Arrays and plain objects as JSON, unless they hold what JSON cannot. */
function toJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return undefined;
  try {
    const text = JSON.stringify(value);
    return text.length > MAX_JSON_CHARACTERS ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
