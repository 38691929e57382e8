/** Methods that routes have. */
export const ROUTE_METHODS = ["GET", "POST", "DELETE"] as const;

/** Method of HTTP that a route answers. */
export type RouteMethod = (typeof ROUTE_METHODS)[number];

/** Finds the route of a path; of several that match, the first that was added. */
export class RouteTable<T> {
  readonly #routes: { readonly method: RouteMethod; readonly parts: readonly string[]; readonly value: T }[] = [];

  add(method: RouteMethod, path: string, value: T): void {
    this.#routes.push({ method, parts: path.split("/"), value });
  }

  /** `undefined` when there is none; also when the path is not valid percent-encoding. */
  find(method: string, path: string): { readonly value: T; readonly params: Readonly<Record<string, string>> } | undefined {
    const given = path.split("/");
    for (const route of this.#routes) {
      if (route.method !== method) continue;
      const params = matchParts(route.parts, given);
      if (params !== undefined) return { value: route.value, params };
    }
    return undefined;
  }
}

function matchParts(parts: readonly string[], given: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (parts.length !== given.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, part] of parts.entries()) {
    const text = given[index] ?? "";
    if (!part.startsWith("{")) {
      if (part !== text) return undefined;
      continue;
    }
    if (text === "") return undefined;
    try {
      params.push([part.slice(1, -1), decodeURIComponent(text)]);
    } catch {
      return undefined;
    }
  }
  return Object.fromEntries(params);
}
