import { InvalidArgumentError } from "../errors/error-classes.js";
import { CommandArgumentError } from "../errors/named-command-errors.js";

/** Types that a value may have. */
export const ARGUMENT_TYPES = ["string", "integer", "float", "boolean"] as const;

/** What the value of an argument is. */
export type ArgumentType = (typeof ARGUMENT_TYPES)[number];

/** A value of an argument. */
export type ArgumentValue = string | number | boolean;

/** What a command says about one of its arguments. */
export interface ArgumentSpec {
  readonly type: ArgumentType;
  /** A call without it is refused. @defaultValue true, and false with a `default` */
  readonly required?: boolean;
  /** Value of a call without it. */
  readonly default?: ArgumentValue;
  readonly description?: string;
}

/** Arguments by name; a type alone is a required argument of that type. */
export type ArgumentSpecs = Readonly<Record<string, ArgumentType | ArgumentSpec>>;

/** An argument as lists of commands show it. */
export interface CommandArgument {
  readonly name: string;
  readonly type: ArgumentType;
  readonly required: boolean;
  /** `null` for none. */
  readonly default: ArgumentValue | null;
  readonly description: string;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const INTEGER = /^[+-]?\d{1,16}$/;
const FLOAT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, yes: true, "1": true, false: false, no: false, "0": false };

/** Narrow a string to a type of arguments. */
export function isArgumentType(value: unknown): value is ArgumentType {
  return (ARGUMENT_TYPES as readonly unknown[]).includes(value);
}

/**
 * The arguments of a command, in the order in which they are written.
 *
 * @throws {@link InvalidArgumentError} a name, a type or a default cannot be; `where` begins the message.
 */
export function toCommandArguments(specs: ArgumentSpecs, where: string): readonly CommandArgument[] {
  return Object.entries(specs).map(([name, given]) => {
    const refuse = (problem: string): never => {
      throw new InvalidArgumentError(`${where}: argument '${name}' ${problem}`);
    };
    if (!NAME.test(name)) refuse("must have a name of letters, digits and _, at most 64, that begins with none of the digits");
    const spec: ArgumentSpec = typeof given === "string" ? { type: given } : given;
    if (typeof spec !== "object" || spec === null) return refuse(`must be one of ${ARGUMENT_TYPES.join(", ")}, or describe itself`);
    const { type, default: preset, required, description = "" } = spec;
    if (!isArgumentType(type)) return refuse(`has the type ${JSON.stringify(type)}, and must have one of ${ARGUMENT_TYPES.join(", ")}`);
    if (typeof description !== "string") refuse("has a description that is no text");
    if (required !== undefined && typeof required !== "boolean") refuse("has a 'required' that is neither true nor false");
    const value = preset === undefined || preset === null ? null : toValue(type, preset);
    if (value === undefined) refuse(`has the default ${JSON.stringify(preset)}, which is no ${type}`);
    return { name, type, required: required ?? value === null, default: value as ArgumentValue | null, description };
  });
}

/**
 * The values of one call. What is not given has its default, or is absent.
 *
 * @throws {@link CommandArgumentError} one is missing, unknown or of the wrong type.
 */
export function toArgumentValues(
  commandName: string,
  expected: readonly CommandArgument[],
  given: Readonly<Record<string, unknown>>,
): Record<string, ArgumentValue> {
  const refuse = (argument: string, problem: string, cause?: unknown): never => {
    const message = `command '${commandName}': argument '${argument}' ${problem}; it takes ${describeArguments(expected)}`;
    throw new CommandArgumentError(message, { commandName, argument, expected, cause });
  };
  for (const name of Object.keys(given)) {
    if (!expected.some((argument) => argument.name === name)) refuse(name.slice(0, 64), "is not known");
  }
  const values: [string, ArgumentValue][] = [];
  for (const { name, type, required, default: preset } of expected) {
    const found = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined;
    if (found === undefined) {
      if (preset !== null) values.push([name, preset]);
      else if (required) refuse(name, "is missing");
      continue;
    }
    const value = toValue(type, found);
    values.push([name, value ?? refuse(name, `must be of type ${type}, not ${excerpt(found)}`, new TypeError(`not of type ${type}`))]);
  }
  return Object.fromEntries(values);
}

/** The value in its type, also where it was sent as text; `undefined` when it is none of the type. */
function toValue(type: ArgumentType, value: unknown): ArgumentValue | undefined {
  switch (type) {
    case "string":
      return typeof value === "string" ? value : undefined;
    case "integer": {
      const number = typeof value === "string" && INTEGER.test(value.trim()) ? Number(value) : value;
      return Number.isSafeInteger(number) ? (number as number) : undefined; // only numbers are
    }
    case "float": {
      const number = typeof value === "string" && FLOAT.test(value.trim()) ? Number(value) : value;
      return Number.isFinite(number) ? (number as number) : undefined; // only numbers are
    }
    case "boolean": {
      if (typeof value === "boolean") return value;
      const word = String(value).trim().toLowerCase();
      return typeof value === "string" || typeof value === "number"
        ? Object.hasOwn(BOOLEANS, word)
          ? BOOLEANS[word]
          : undefined
        : undefined;
    }
  }
}

function describeArguments(expected: readonly CommandArgument[]): string {
  if (expected.length === 0) return "no arguments";
  return expected.map(({ name, type, required }) => `${name}${required ? "" : "?"}: ${type}`).join(", ");
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
