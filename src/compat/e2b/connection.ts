import { type ConnectionOptions, UnimplementedError } from "../../index.js";

/** Where the platform is and how to talk to it: our options, and those that only E2B programs have. */
export interface ConnectionOpts extends ConnectionOptions {
  /** Extra headers for the control plane; `apiHeaders` wins. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A daemon without a platform in front of it. Only `false` is possible here. */
  readonly debug?: boolean | undefined;
  /** Ignored: the form of keys is the server's business. */
  readonly validateApiKey?: boolean | undefined;
}

/** A class whose static methods carry options of their own: one of the members of {@link E2B}. */
export interface Bound {
  readonly boundOpts?: ConnectionOpts | undefined;
}

/**
 * The options of a call over those that its class is bound to, in our terms.
 *
 * @throws {@link UnimplementedError} `debug: true`.
 */
export function withBound<T extends ConnectionOpts>(owner: Bound | undefined, options: T | undefined): T {
  // Taken off its class, a static method has no owner.
  const { headers, debug, validateApiKey: _, ...rest } = { ...owner?.boundOpts, ...given(options) };
  if (debug === true) {
    throw new UnimplementedError(
      "debug: true (a daemon without a platform) is not possible here; start the platform with abx serve instead",
    );
  }
  return { ...rest, ...(headers !== undefined && { apiHeaders: { ...headers, ...rest.apiHeaders } }) } as unknown as T; // T without the three
}

/** `undefined` means absent, so that it does not hide what is bound. */
function given<T extends object>(options: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
