import { validateHeaderName, validateHeaderValue } from "node:http";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { bestMatch } from "./host-name.js";
import type { NetworkConfig } from "./network-config.js";

/** Value of a secret by its name; `undefined` when there is none. */
export type ReadSecret = (name: string) => string | undefined;

const SECRET = /\$\{e2b\.secrets\.([A-Za-z0-9_-]{1,128})\}/g;

/** The headers that the egress proxy adds to requests, by host. */
export class HeaderRules {
  readonly #headersOf: ReadonlyMap<string, Readonly<Record<string, string>>>;

  constructor(rules: NetworkConfig["rules"]) {
    this.#headersOf = new Map(
      Object.entries(rules ?? {}).map(([pattern, [rule]]) => [pattern.toLowerCase(), rule?.transform?.headers ?? {}] as const),
    );
  }

  /** True when there is anything to add anywhere. */
  get areThere(): boolean {
    return this.#headersOf.size > 0;
  }

  /** Headers for a host, with their placeholders; `undefined` when no rule names it. Rules are not merged: the best match counts. */
  find(host: string): Readonly<Record<string, string>> | undefined {
    const pattern = bestMatch(this.#headersOf.keys(), host);
    return pattern === undefined ? undefined : this.#headersOf.get(pattern);
  }
}

/**
 * Replace headers of a request, given as names and values in turn, by those of a rule with the secrets filled in.
 *
 * @throws {@link FailedPreconditionError} a secret does not exist or cannot stand in a header; the message never holds a value.
 */
export function applyHeaders(raw: readonly string[], rule: Readonly<Record<string, string>>, readSecret: ReadSecret): string[] {
  const replaced = new Set(Object.keys(rule).map((name) => name.toLowerCase()));
  const kept = raw.filter((_, index) => !replaced.has((raw[index - (index % 2)] ?? "").toLowerCase()));
  const added = Object.entries(rule).flatMap(([name, template]) => {
    const value = template.replace(SECRET, (_match, secret: string) => {
      const found = readSecret(secret);
      if (found === undefined) throw new FailedPreconditionError(`the secret "${secret}" of the header rule for ${name} does not exist`);
      return found;
    });
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new FailedPreconditionError(`the value for the header ${name} holds a character that no header may hold`);
    }
    return [name, value];
  });
  return [...kept, ...added];
}
