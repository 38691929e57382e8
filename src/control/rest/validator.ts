import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import { type ContractOperation, LIFECYCLE_DOCUMENT } from "./contract.js";

const DOCUMENT_KEY = "lifecycle";
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Checks requests and answers against the contract; each schema is compiled when it is first used. */
export class ContractValidator {
  readonly #bodies = createAjv(false);
  readonly #parameters = createAjv(true);
  readonly #compiled = new Map<string, ValidateFunction>();

  /**
   * Check a body and fill in the defaults of the contract.
   *
   * @throws {@link InvalidArgumentError} it breaks a rule; the message names the field, the rule and the value.
   */
  assertBody(operation: ContractOperation, body: unknown): void {
    if (operation.bodyPointer !== undefined) this.#assert(this.#compileBody(operation.bodyPointer), body, "body");
  }

  /**
   * Check path, query or header parameters; texts become numbers and booleans where the contract says so, absent ones their default.
   *
   * @throws {@link InvalidArgumentError} as for a body.
   */
  assertParameters(operation: ContractOperation, place: "path" | "query" | "header", values: Record<string, unknown>): void {
    const key = `${place} ${operation.id}`;
    let validate = this.#compiled.get(key);
    if (validate === undefined) {
      const declared = operation.parameters.filter((parameter) => parameter.in === place);
      const properties = declared.map(({ name, schemaPointer, defaultValue }) => {
        // A default counts only where it stands itself, not behind a reference.
        const own = defaultValue === undefined ? {} : { default: defaultValue };
        return [name, { $ref: `${DOCUMENT_KEY}${schemaPointer}`, ...own }];
      });
      validate = this.#parameters.compile({ type: "object", properties: Object.fromEntries(properties) });
      this.#compiled.set(key, validate);
    }
    this.#assert(validate, values, place);
  }

  /** @throws {@link InternalError} our own answer breaks the contract. */
  assertAnswer(operation: ContractOperation, status: number, body: unknown): void {
    const pointer = operation.answerPointers.get(status);
    if (pointer === undefined) return;
    const validate = this.#compileBody(pointer);
    if (!validate(body))
      throw new InternalError(`the answer ${status} of ${operation.id} breaks the contract: ${describe(validate.errors?.[0], "body")}`);
  }

  /** Compile the schemas of an operation ahead of its first call, which they would slow down by some 50 ms. */
  prepare({ bodyPointer }: ContractOperation): void {
    if (bodyPointer !== undefined) this.#compileBody(bodyPointer);
  }

  #compileBody(pointer: string): ValidateFunction {
    const known = this.#compiled.get(pointer);
    if (known !== undefined) return known;
    const validate = this.#bodies.compile({ $ref: `${DOCUMENT_KEY}${pointer}` });
    this.#compiled.set(pointer, validate);
    return validate;
  }

  #assert(validate: ValidateFunction, value: unknown, what: string): void {
    if (!validate(value)) throw new InvalidArgumentError(describe(validate.errors?.[0], what));
  }
}

function createAjv(coerceTypes: boolean): Ajv2020 {
  // An OpenAPI document has keywords beside those of JSON Schema, which is all that the strict mode complains about.
  const ajv = new Ajv2020({ strict: false, useDefaults: true, coerceTypes, verbose: true, validateSchema: false });
  ajv.addFormat("date-time", (text: string) => RFC_3339.test(text) && !Number.isNaN(Date.parse(text)));
  ajv.addSchema(LIFECYCLE_DOCUMENT, DOCUMENT_KEY, undefined, false);
  return ajv;
}

/** Longest value that a message repeats. */
const MAX_SHOWN = 80;

function describe(error: ErrorObject | undefined, what: string): string {
  if (error === undefined) return `the ${what} is malformed`;
  const field = error.instancePath === "" ? `the ${what}` : error.instancePath.slice(1).replaceAll("/", ".");
  // An object would repeat what the caller sent, which may be a secret.
  const isShown = ["number", "boolean"].includes(typeof error.data) || (typeof error.data === "string" && error.data.length <= MAX_SHOWN);
  const rule = error.keyword === "enum" ? `must be one of ${JSON.stringify(error.schema)}` : error.message;
  return `${field} ${rule}${isShown ? `, got ${JSON.stringify(error.data)}` : ""}`;
}
