import lifecycle from "../../../gen/openapi/lifecycle.json" with { type: "json" };
import type { OperationId } from "./operation-types.js";

/** One parameter as the document describes it, references resolved. */
export interface ContractParameter {
  readonly name: string;
  readonly in: "query" | "path" | "header" | "cookie";
  readonly isArray: boolean;
  readonly schemaPointer: string;
  readonly defaultValue: unknown;
}

/** One operation as the document describes it. */
export interface ContractOperation {
  readonly id: OperationId;
  /** Upper-case HTTP method. */
  readonly method: string;
  /** Path template, `/sandboxes/{sandboxID}`. */
  readonly path: string;
  readonly needsKey: boolean;
  readonly parameters: readonly ContractParameter[];
  /** JSON pointer into the document to the schema of the body; absent when the operation takes none. */
  readonly bodyPointer: string | undefined;
  readonly isBodyRequired: boolean;
  /** The body is bytes, which the handler reads itself. */
  readonly hasByteBody: boolean;
  /** JSON pointers to the schemas of the answers, by status. */
  readonly answerPointers: ReadonlyMap<number, string>;
}

/** The OpenAPI document that the control plane serves. */
export const LIFECYCLE_DOCUMENT: object = lifecycle;

interface RawOperation {
  readonly operationId?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly object[];
  readonly requestBody?: { readonly required?: boolean; readonly content?: Readonly<Record<string, object>> };
  readonly responses?: Readonly<Record<string, { readonly $ref?: string; readonly content?: Readonly<Record<string, object>> }>>;
}

const METHODS = ["get", "put", "post", "delete", "patch"] as const;
const JSON_SCHEMA = ["content", "application/json", "schema"];

/** Read every operation of {@link LIFECYCLE_DOCUMENT}. */
export function readOperations(): readonly ContractOperation[] {
  return Object.entries(lifecycle.paths as Readonly<Record<string, Readonly<Record<string, unknown>>>>).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const raw = item[method] as RawOperation | undefined;
      return raw?.operationId === undefined ? [] : [toOperation(path, method, raw, (item.parameters ?? []) as readonly object[])];
    }),
  );
}

function toOperation(path: string, method: string, raw: RawOperation, shared: readonly object[]): ContractOperation {
  const base = ["paths", path, method];
  const hasBody = raw.requestBody?.content?.["application/json"] !== undefined;
  const answers = Object.entries(raw.responses ?? {}).filter(([, answer]) => answer.$ref === undefined && answer.content !== undefined);
  return {
    // The generated type and this document come from the same source.
    id: raw.operationId as OperationId,
    method: method.toUpperCase(),
    path,
    needsKey: (raw.security ?? lifecycle.security).length > 0,
    parameters: [
      ...shared.map((parameter, index) => toParameter(parameter, ["paths", path, "parameters", String(index)])),
      ...(raw.parameters ?? []).map((parameter, index) => toParameter(parameter, [...base, "parameters", String(index)])),
    ],
    bodyPointer: hasBody ? toPointer([...base, "requestBody", ...JSON_SCHEMA]) : undefined,
    isBodyRequired: raw.requestBody?.required === true,
    hasByteBody: raw.requestBody?.content?.["application/octet-stream"] !== undefined,
    answerPointers: new Map(answers.map(([status]) => [Number(status), toPointer([...base, "responses", status, ...JSON_SCHEMA])])),
  };
}

function toParameter(raw: object, keys: readonly string[]): ContractParameter {
  const pointer = "$ref" in raw && typeof raw.$ref === "string" ? raw.$ref : toPointer(keys);
  const parameter = lookUp(pointer) as { name: string; in: ContractParameter["in"]; schema: { type?: string; default?: unknown } };
  const { name, in: place, schema } = parameter;
  return { name, in: place, isArray: schema.type === "array", schemaPointer: `${pointer}/schema`, defaultValue: schema.default };
}

function lookUp(pointer: string): unknown {
  const keys = pointer.slice("#/".length).split("/");
  return keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[fromPointerKey(key)], lifecycle);
}

function fromPointerKey(key: string): string {
  return decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~");
}

function toPointer(keys: readonly string[]): string {
  return `#/${keys.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;
}
