import { UnimplementedError } from "../../errors/error-classes.js";
import type { NetworkUpdate } from "./sandbox-types.js";

/** Headers for HTTPS requests to a host, as harnesses say it. */
export interface RequestTransformation {
  readonly match: {
    /** Host name or `*.` name. */
    readonly host: string;
    readonly path?: unknown;
    readonly method?: readonly string[];
    readonly queryString?: readonly unknown[];
    readonly headers?: readonly unknown[];
  };
  readonly transform: {
    /** They replace those of the request; `Secret.fill(name)` gives a value that only the platform knows. */
    readonly headers: Readonly<Record<string, string>>;
  };
}

const CONDITIONS = ["path", "method", "queryString", "headers"] as const;

/**
 * The header rules of a sandbox that mean the same; of several for one host and one header the last counts.
 *
 * @throws {@link UnimplementedError} one has a condition beside the host. Without it the credential would go with requests that are not meant.
 */
export function toHeaderRules(transformations: readonly RequestTransformation[]): NonNullable<NetworkUpdate["rules"]> {
  const byHost = new Map<string, Map<string, readonly [name: string, value: string]>>();
  for (const { match, transform } of transformations) {
    const condition = CONDITIONS.find((name) => match[name] !== undefined && !(Array.isArray(match[name]) && match[name].length === 0));
    if (condition !== undefined) {
      throw new UnimplementedError(
        `the rules of a sandbox know requests by their host only, and the transformation for ${match.host} has the condition match.${condition}; leave it out`,
      );
    }
    const host = match.host.toLowerCase();
    const headers = byHost.get(host) ?? new Map<string, readonly [string, string]>();
    for (const [name, value] of Object.entries(transform.headers)) headers.set(name.toLowerCase(), [name, value]);
    byHost.set(host, headers);
  }
  return Object.fromEntries(
    [...byHost].map(([host, headers]) => [host, [{ transform: { headers: Object.fromEntries(headers.values()) } }]]),
  );
}
