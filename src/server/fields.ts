import { InvalidArgumentError } from "../errors/error-classes.js";

/** A JSON object of a request. */
export type Fields = Readonly<Record<string, unknown>>;

/** @throws {@link InvalidArgumentError} it is missing, empty, no text or holds NUL. */
export function requiredText(fields: Fields, name: string): string {
  const value = optionalText(fields, name);
  if (value === undefined || value === "") throw new InvalidArgumentError(`'${name}' is required and must be a text`);
  return value;
}

/** @throws {@link InvalidArgumentError} it is no text, or holds NUL. */
export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new InvalidArgumentError(`'${name}' must be a text`);
  if (value.includes("\0")) throw new InvalidArgumentError(`'${name}' holds a NUL character`);
  return value;
}

/** A whole number within bounds; above `max` is `max`. @throws {@link InvalidArgumentError} it is none, or below `min`. */
export function cappedInteger(
  value: unknown,
  name: string,
  bounds: { readonly min: number; readonly max: number; readonly preset: number },
): number {
  if (value === undefined || value === null) return bounds.preset;
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < bounds.min) {
    throw new InvalidArgumentError(`'${name}' must be a whole number of at least ${bounds.min}`);
  }
  return Math.min(number, bounds.max);
}

/** A number above 0, at most `max`; everything else is `preset`. */
export function positiveOr(preset: number, value: unknown, max: number = Number.MAX_SAFE_INTEGER): number {
  return typeof value === "number" && value > 0 ? Math.min(value, max) : preset;
}

/** @throws {@link InvalidArgumentError} it is not one of the words. */
export function oneOf<const W extends string>(value: unknown, name: string, words: readonly W[], preset: W): W {
  if (value === undefined || value === null || value === "") return preset;
  const found = words.find((word) => word === value);
  if (found === undefined) throw new InvalidArgumentError(`'${name}' must be one of ${words.join(", ")}`);
  return found;
}

/** Whether a parameter of a query says yes. */
export function isYes(value: string | null): boolean {
  return value !== null && ["true", "yes", "1"].includes(value.toLowerCase());
}

/** @throws {@link InvalidArgumentError} the parameter is missing or empty. */
export function requiredParameter(query: URLSearchParams, name: string): string {
  return requiredText({ [name]: query.get(name) }, name);
}

/** @throws {@link InvalidArgumentError} it is no object of texts. */
export function optionalTexts(fields: Fields, name: string): Readonly<Record<string, string>> | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw new InvalidArgumentError(`'${name}' must be an object of texts`);
  for (const [key, text] of Object.entries(value as object)) {
    if (typeof text !== "string") throw new InvalidArgumentError(`'${name}.${key}' must be a text`);
  }
  return value as Readonly<Record<string, string>>; // every value was looked at
}
