/** What is known of an error, as plain data. The key in parentheses is ours, the others are properties of the error. */
export interface ErrorFields {
  /** The class of JavaScript that it is, or is derived from. */
  "(class)"?: unknown;
  [property: string]: unknown;
}

const CLASSES: Readonly<Record<string, new (message?: string) => Error>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};
/** Properties that engines define without making them enumerable; `name` is on the prototype, unless a class has its own. */
const BUILT_IN = ["name", "message", "stack", "cause", "errors"] as const;
const CLASS_KEY = "(class)";

export function toErrorFields(error: Error): ErrorFields {
  const fields: ErrorFields = { [CLASS_KEY]: classOf(error) };
  for (const key of BUILT_IN) {
    if (key === "name" || key === "message" || key === "stack") fields[key] = String(error[key] ?? "");
    else if (Object.hasOwn(error, key)) fields[key] = (error as unknown as Record<string, unknown>)[key];
  }
  for (const [key, value] of Object.entries(error)) if (!Object.hasOwn(fields, key)) fields[key] = value;
  return fields;
}

/** An error of the class that `fields` name, for {@link fillError}. */
export function newErrorFor(fields: ErrorFields): Error {
  const name = fields[CLASS_KEY];
  if (name === "AggregateError") return new AggregateError([]);
  return new (typeof name === "string" && Object.hasOwn(CLASSES, name) ? (CLASSES[name] ?? Error) : Error)();
}

export function fillError(error: Error, fields: ErrorFields): void {
  for (const [key, value] of Object.entries(fields)) {
    if (key === CLASS_KEY || (key === "name" && value === error.name)) continue;
    const isText = key === "name" || key === "message" || key === "stack";
    const enumerable = !(BUILT_IN as readonly string[]).includes(key);
    Object.defineProperty(error, key, { value: isText ? String(value) : value, enumerable, writable: true, configurable: true });
  }
}

function classOf(error: Error): string {
  for (let prototype = Object.getPrototypeOf(error); prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    const name: unknown = prototype.constructor?.name;
    if (name === "AggregateError" || (typeof name === "string" && Object.hasOwn(CLASSES, name))) return name;
  }
  return "Error";
}
