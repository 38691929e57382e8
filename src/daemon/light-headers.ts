/**
 * `Headers` of the Fetch standard, as far as servers need it.
 *
 * Node's own class arrives with its whole HTTP client, which takes longer to load than the rest of the daemon together and adds megabytes to
 * every sandbox. Values are not validated: those from the network were, and `ServerResponse` validates those to it.
 */
export class LightHeaders implements Iterable<[string, string]> {
  readonly #values = new Map<string, string[]>();

  constructor(init: Iterable<readonly string[]> | Readonly<Record<string, string>> = {}) {
    const entries = Symbol.iterator in init ? (init as Iterable<readonly string[]>) : Object.entries(init);
    for (const [name = "", value = ""] of entries) this.append(name, value);
  }

  append(name: string, value: string): void {
    const key = name.toLowerCase();
    const values = this.#values.get(key);
    if (values === undefined) this.#values.set(key, [String(value).trim()]);
    else values.push(String(value).trim());
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase())?.join(", ") ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), [String(value).trim()]);
  }

  forEach(action: (value: string, name: string, parent: LightHeaders) => void, self?: unknown): void {
    for (const [name, value] of this) action.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) {
      if (name === "set-cookie") for (const value of this.getSetCookie()) yield [name, value];
      else yield [name, this.get(name) ?? ""];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/** Make {@link LightHeaders} the `Headers` of this process. Only for a process that is nothing but the daemon. */
export function useLightHeaders(): void {
  // Assigned, because Object.defineProperty would first load the class that it replaces. The cast: what servers use of it is all there.
  globalThis.Headers = LightHeaders as unknown as typeof Headers;
}
