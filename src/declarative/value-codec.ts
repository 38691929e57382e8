import { DevalueError, stringify, unflatten } from "devalue";
import { SerializationError } from "../errors/serialization-error.js";
import { type ErrorFields, fillError, newErrorFor, toErrorFields } from "./error-fields.js";

/** Longest number that is read, in digits: turning digits into a BigInt takes more than linear time. */
const MAX_BIGINT_DIGITS = 100_000;

/**
 * Write a value as text: everything of JSON, and `undefined`, NaN, infinities, -0, BigInt, Date, RegExp, URL, Map, Set, ArrayBuffer, typed
 * arrays, errors, holes of arrays, and references that are shared or cyclic.
 *
 * @param root what the value is called in messages, for example `result`.
 * @throws {@link SerializationError} something in it is no data.
 */
export function encodeValue(value: unknown, root: string): string {
  try {
    return stringify(value, { Error: (thing: unknown) => isError(thing) && toErrorFields(thing) }, { operations: { viewInfo } });
  } catch (error) {
    if (!(error instanceof DevalueError)) throw error;
    throw new SerializationError(`${root}${error.path}`, describe(error.value), { cause: error });
  }
}

/**
 * Read what {@link encodeValue} wrote. The text may come from anybody: it becomes data, never code.
 *
 * @throws `Error` it is not of this form.
 */
export function decodeValue(text: string): unknown {
  const flat: unknown = JSON.parse(text);
  if (typeof flat !== "number" && !Array.isArray(flat)) throw new Error("the text holds no encoded value");
  if (Array.isArray(flat)) flat.forEach(checkBigInt);
  // An error may hold itself, so each is made empty when it is met and filled when everything else is there.
  const errors = new Map<ErrorFields, Error>();
  const toError = (fields: ErrorFields): Error => {
    if (typeof fields !== "object" || fields === null) throw new Error("an encoded error has no fields");
    const error = errors.get(fields) ?? newErrorFor(fields);
    errors.set(fields, error);
    return error;
  };
  const value: unknown = unflatten(flat, { Error: toError });
  for (const [fields, error] of errors) fillError(error, fields);
  return value;
}

function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** A view takes with it only the bytes that it shows, not the rest of its buffer. */
function viewInfo(view: ArrayBufferView & { readonly length?: number }) {
  const { byteLength } = view;
  const buffer = new Uint8Array(byteLength);
  buffer.set(new Uint8Array(view.buffer, view.byteOffset, byteLength));
  return { buffer: buffer.buffer, byteOffset: 0, byteLength, length: view.length as number, bufferByteLength: byteLength };
}

function checkBigInt(entry: unknown): void {
  if (!Array.isArray(entry) || entry[0] !== "BigInt") return;
  if (String(entry[1]).length > MAX_BIGINT_DIGITS) throw new Error(`a number has more than ${MAX_BIGINT_DIGITS} digits`);
}

function describe(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return typeof value;
  if (typeof (value as { then?: unknown }).then === "function") return "a promise";
  if (Object.getOwnPropertySymbols(value).length > 0) return "an object with symbols as keys";
  if (Object.hasOwn(value, "__proto__")) return "an object with the key __proto__";
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an object with a prototype";
}
