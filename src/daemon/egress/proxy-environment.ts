/** Where programs inside look for authorities; each names one file. */
const BUNDLE_VARIABLES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"] as const;

/** Names that are never proxied: they mean the sandbox itself. */
const NO_PROXY = "localhost,127.0.0.1,::1,0.0.0.0";

/** What the variables describe. */
export interface ProxyEnvironmentOptions {
  readonly httpPort: number;
  /** File with all authorities, when there are more than the template's. */
  readonly bundleFile: string | undefined;
  /** File with only the additional ones. */
  readonly extraFile: string | undefined;
}

/**
 * Variables by which programs find the way out and the authorities to trust.
 *
 * `ALL_PROXY` is the HTTP proxy too: a SOCKS URL there makes Python's clients fail when an optional package is missing.
 */
export function proxyEnvironment({ httpPort, bundleFile, extraFile }: ProxyEnvironmentOptions): ReadonlyMap<string, string> {
  const url = `http://127.0.0.1:${httpPort}`;
  const proxies = Object.entries({ HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY });
  return new Map<string, string>([
    ...proxies,
    ...proxies.map(([name, value]) => [name.toLowerCase(), value] as const),
    // Node's own fetch and http look at the variables only then.
    ["NODE_USE_ENV_PROXY", "1"],
    ...(bundleFile === undefined ? [] : BUNDLE_VARIABLES.map((name) => [name, bundleFile] as const)),
    ...(extraFile === undefined ? [] : [["NODE_EXTRA_CA_CERTS", extraFile] as const]),
  ]);
}

/** Names that `sudo` keeps. */
export const KEPT_VARIABLES: readonly string[] = [...proxyEnvironment({ httpPort: 0, bundleFile: "", extraFile: "" }).keys()];

/**
 * Put variables of the user before ours: who sets `HTTP_PROXY` means `http_proxy` as well, so ours of either spelling give way.
 */
export function withDefaults(
  defaults: ReadonlyMap<string, string>,
  given: Iterable<readonly [string, string]>,
): ReadonlyMap<string, string> {
  const merged = new Map(defaults);
  const own = [...given];
  const taken = new Set(own.map(([name]) => name.toLowerCase()));
  for (const name of defaults.keys()) if (taken.has(name.toLowerCase())) merged.delete(name);
  for (const [name, value] of own) merged.set(name, value);
  return merged;
}
