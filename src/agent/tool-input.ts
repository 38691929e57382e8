import { InvalidArgumentError } from "../errors/error-classes.js";
import type { InputSchema } from "./tool.js";

interface ParameterFacts {
  /** For the model. */
  readonly description: string;
  /** @defaultValue false */
  readonly isRequired?: boolean;
}

/** One member of the input of a tool. */
export type Parameter = ParameterFacts &
  (
    | { readonly type: "string"; readonly options?: readonly string[]; readonly default?: string }
    | { readonly type: "integer"; readonly minimum: number; readonly maximum: number; readonly default?: number }
    | { readonly type: "boolean"; readonly default?: boolean }
    /** An object whose values are strings. */
    | { readonly type: "strings" }
  );

export type Parameters = Readonly<Record<string, Parameter>>;

interface Kinds {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
  readonly strings: Readonly<Record<string, string>>;
}

type IsThere<P> = P extends { readonly isRequired: true } | { readonly default: string | number | boolean } ? true : false;

/** What {@link readInput} gives. */
export type InputOf<P extends Parameters> = {
  readonly [K in keyof P]: IsThere<P[K]> extends true ? Kinds[P[K]["type"]] : Kinds[P[K]["type"]] | undefined;
};

export function toInputSchema(parameters: Parameters): InputSchema {
  const entries = Object.entries(parameters);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, parameter]) => [name, toSchema(parameter)])),
    required: entries.filter(([, { isRequired }]) => isRequired).map(([name]) => name),
    additionalProperties: false,
  };
}

/**
 * Check what a model gave. `undefined` and `null` stand for no members at all, and for a member that is left out.
 *
 * @throws {@link InvalidArgumentError} naming the member, and what may stand there.
 */
export function readInput<P extends Parameters>(tool: string, parameters: P, input: unknown): InputOf<P> {
  const given = toMembers(tool, input);
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(parameters, name)) {
      throw new InvalidArgumentError(
        `${tool} takes no ${JSON.stringify(name)}; it takes ${Object.keys(parameters).join(", ") || "nothing"}`,
      );
    }
  }
  const read = Object.entries(parameters).map(([name, parameter]) => [name, readMember(name, parameter, given[name] ?? undefined)]);
  return Object.fromEntries(read) as InputOf<P>; // each member is what its parameter says
}

function toMembers(tool: string, input: unknown): Readonly<Record<string, unknown>> {
  if (input === undefined || input === null) return {};
  if (typeof input === "object" && !Array.isArray(input)) return input as Record<string, unknown>;
  throw new InvalidArgumentError(`${tool} takes an object, not ${Array.isArray(input) ? "an array" : typeof input}`);
}

function readMember(name: string, parameter: Parameter, value: unknown): unknown {
  if (value === undefined) {
    if (parameter.isRequired) throw new InvalidArgumentError(`${name} is missing: ${parameter.description}`);
    return "default" in parameter ? parameter.default : undefined;
  }
  if (isOfType(parameter, value)) return value;
  throw new InvalidArgumentError(`${name} must be ${expected(parameter)}, not ${excerpt(value)}`);
}

function isOfType(parameter: Parameter, value: unknown): boolean {
  switch (parameter.type) {
    case "string":
      return typeof value === "string" && (parameter.options === undefined || parameter.options.includes(value));
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= parameter.minimum && (value as number) <= parameter.maximum;
    case "boolean":
      return typeof value === "boolean";
    case "strings":
      return typeof value === "object" && value !== null && Object.values(value).every((item) => typeof item === "string");
  }
}

function expected(parameter: Parameter): string {
  switch (parameter.type) {
    case "string":
      return parameter.options === undefined ? "a string" : `one of ${parameter.options.join(", ")}`;
    case "integer":
      return `a whole number from ${parameter.minimum} to ${parameter.maximum}`;
    case "boolean":
      return "true or false";
    case "strings":
      return "an object whose values are strings";
  }
}

function toSchema({ description, isRequired: _, ...parameter }: Parameter): Readonly<Record<string, unknown>> {
  if (parameter.type === "strings") return { type: "object", description, additionalProperties: { type: "string" } };
  if (parameter.type !== "string") return { ...parameter, description };
  const { options, ...rest } = parameter;
  return { ...rest, ...(options !== undefined && { enum: options }), description };
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
