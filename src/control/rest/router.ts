import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { ContractOperation } from "./contract.js";

/** Where a request leads. */
export type RouteMatch =
  | { readonly kind: "found"; readonly operation: ContractOperation; readonly path: Readonly<Record<string, string>> }
  | { readonly kind: "method_not_allowed"; readonly allowed: readonly string[] }
  | { readonly kind: "unknown" };

/**
 * Finds the operation of a request.
 *
 * Paths are matched segment by segment as they were sent and decoded afterwards, so an encoded slash never splits a segment.
 */
export class Router {
  readonly #operations: readonly { readonly operation: ContractOperation; readonly segments: readonly string[] }[];

  constructor(operations: readonly ContractOperation[]) {
    this.#operations = operations.map((operation) => ({ operation, segments: operation.path.split("/") }));
  }

  /** @throws {@link InvalidArgumentError} a parameter is not valid percent-encoding. */
  match(method: string, encodedPath: string): RouteMatch {
    const segments = encodedPath.split("/");
    const candidates = this.#operations.filter((entry) => fits(entry.segments, segments));
    // A literal path wins over one with a parameter in the same place.
    const fewest = Math.min(...candidates.map((entry) => countParameters(entry.segments)));
    const best = candidates.filter((entry) => countParameters(entry.segments) === fewest);
    if (best.length === 0) return { kind: "unknown" };
    const wanted = method === "HEAD" ? "GET" : method;
    const found = best.find((entry) => entry.operation.method === wanted);
    if (found === undefined) return { kind: "method_not_allowed", allowed: best.map((entry) => entry.operation.method) };
    return { kind: "found", operation: found.operation, path: readParameters(found.segments, segments) };
  }
}

function fits(template: readonly string[], segments: readonly string[]): boolean {
  if (template.length !== segments.length) return false;
  return template.every((part, index) => (isParameter(part) ? segments[index] !== "" : part === segments[index]));
}

function countParameters(template: readonly string[]): number {
  return template.filter(isParameter).length;
}

function isParameter(part: string): boolean {
  return part.startsWith("{");
}

function readParameters(template: readonly string[], segments: readonly string[]): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    if (isParameter(part)) parameters[part.slice(1, -1)] = decodeSegment(segments[index] ?? "");
  }
  return parameters;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new InvalidArgumentError(`"${segment}" in the path is not valid percent-encoding`);
  }
}
