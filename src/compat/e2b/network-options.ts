import {
  ALL_TRAFFIC,
  type EgressProxy,
  InvalidArgumentError,
  type NetworkRule,
  type NetworkUpdate,
  type SandboxNetwork,
  UnimplementedError,
} from "../../index.js";

/** What a function for a rule is told. */
export interface SandboxNetworkTransformContext {
  readonly iam: { readonly tokens: Readonly<Record<string, string>> };
}

/** What happens to the requests of a rule. */
export interface SandboxNetworkTransform {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Gives the change of requests to one host. */
export type SandboxNetworkTransformResolver = (context: SandboxNetworkTransformContext) => SandboxNetworkTransform;

/** A rule for one host. */
export interface SandboxNetworkRule {
  readonly transform?: SandboxNetworkTransform | SandboxNetworkTransformResolver;
}

/** Rules by host name. */
export type SandboxNetworkRules =
  | Readonly<Record<string, readonly SandboxNetworkRule[]>>
  | ReadonlyMap<string, readonly SandboxNetworkRule[]>;

/** What a function for `allowOut` or `denyOut` is told. */
export interface SandboxNetworkSelectorContext {
  readonly allTraffic: string;
  // Mutable in the programs that are to compile.
  readonly rules: Map<string, SandboxNetworkRule[]>;
}

/** Destinations, or a function that names them. */
export type SandboxNetworkSelector = readonly string[] | ((context: SandboxNetworkSelectorContext) => readonly string[]);

interface EgressOptions {
  readonly allowOut?: SandboxNetworkSelector | undefined;
  readonly denyOut?: SandboxNetworkSelector | undefined;
  readonly rules?: SandboxNetworkRules | undefined;
  readonly egressProxy?: EgressProxy | null | undefined;
}

/** Rules for traffic at creation. */
export interface SandboxNetworkOpts
  extends Omit<EgressOptions, "egressProxy">,
    Pick<SandboxNetwork, "egressProxy" | "allowPublicTraffic" | "maskRequestHost" | "httpsPorts"> {}

/** Rules for outgoing traffic of a running sandbox. */
export interface SandboxNetworkUpdate extends EgressOptions, Pick<NetworkUpdate, "allowInternetAccess"> {}

/** Rules with lists in place of functions. */
export function toNetwork<T extends EgressOptions>({ allowOut, denyOut, rules, ...rest }: T) {
  const { egressProxy } = rest;
  const byHost = new Map([...hostsOf(rules)].map(([host, list]) => [host, [...list]]));
  if (egressProxy != null && typeof egressProxy.address !== "string") {
    throw new InvalidArgumentError("network.egressProxy must be an object with an address, such as { address: 'host:1080' }");
  }
  return {
    ...rest,
    ...(allowOut !== undefined && { allowOut: select(allowOut, byHost) }),
    ...(denyOut !== undefined && { denyOut: select(denyOut, byHost) }),
    ...(rules !== undefined && { rules: Object.fromEntries([...byHost].map(([host, list]) => [host, list.map(toRule)])) }),
  };
}

function hostsOf(rules: SandboxNetworkRules | undefined): Iterable<[string, readonly SandboxNetworkRule[]]> {
  // A Map, of whichever realm, gives its entries itself.
  return Symbol.iterator in (rules ?? {}) ? (rules as Iterable<[string, readonly SandboxNetworkRule[]]>) : Object.entries(rules ?? {});
}

function select(selector: SandboxNetworkSelector, rules: Map<string, SandboxNetworkRule[]>): string[] {
  return [...(typeof selector === "function" ? selector({ allTraffic: ALL_TRAFFIC, rules }) : selector)];
}

function toRule({ transform }: SandboxNetworkRule): NetworkRule {
  if (transform === undefined) return {};
  return { transform: typeof transform === "function" ? transform({ iam: { tokens: noTokens() } }) : transform };
}

/** A function that reads a workload token is told that there are none, instead of getting `undefined` into a header. */
function noTokens(): Record<string, string> {
  return new Proxy<Record<string, string>>(
    {},
    {
      get(_, name) {
        throw new UnimplementedError(`there are no workload tokens here, so iam.tokens.${String(name)} cannot be used`);
      },
    },
  );
}
