import { InvalidArgumentError, UnimplementedError } from "../../errors/error-classes.js";
import { ALL_TRAFFIC } from "../../sandbox/network.js";
import { type Cidr, formatCidr, isWithin, parseCidr, subtractCidrs } from "./cidr.js";
import type { NetworkUpdate } from "./sandbox-types.js";

/**
 * What a sandbox may reach, as harnesses say it. `custom` allows `allowedHosts` and `allowedCIDRs` without the addresses of `deniedCIDRs`, and
 * nothing else.
 */
export type SandboxNetworkPolicy =
  | { readonly mode: "allow-all" }
  | { readonly mode: "deny-all" }
  | {
      readonly mode: "custom";
      /** Host names, `*.` names, or `*` for all. Names open the ports 80 and 443. */
      readonly allowedHosts?: readonly string[] | undefined;
      readonly allowedCIDRs?: readonly string[] | undefined;
      readonly deniedCIDRs?: readonly string[] | undefined;
    };

/** Ranges that no host name and no entry for everything opens (docs/egress.md), so that denying them takes nothing from a name. */
const CLOSED_TO_NAMES = [
  ...[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ...["::1/128", "fc00::/7", "fe80::/10", "ff00::/8"],
].map((text) => parseCidr("the table", text));

/**
 * The rules of a sandbox that mean the same. In them an allow entry wins over every deny entry, so denied addresses are taken out of the
 * allowed ranges.
 *
 * @throws {@link InvalidArgumentError} an entry is no range; {@link UnimplementedError} public addresses are denied to names that are allowed,
 * which the rules cannot say.
 */
export function toEgressRules(policy: SandboxNetworkPolicy): Pick<NetworkUpdate, "allowOut" | "denyOut"> {
  switch (policy.mode) {
    case "allow-all":
      return {};
    case "deny-all":
      return { denyOut: [ALL_TRAFFIC] };
    case "custom":
      return toCustomRules(policy);
    default:
      throw new InvalidArgumentError(
        `the mode of a network policy is "allow-all", "deny-all" or "custom", not ${JSON.stringify((policy as { mode?: unknown }).mode)}`,
      );
  }
}

function toCustomRules(policy: SandboxNetworkPolicy & { readonly mode: "custom" }): Pick<NetworkUpdate, "allowOut" | "denyOut"> {
  const hosts = policy.allowedHosts ?? [];
  const allowed = (policy.allowedCIDRs ?? []).map((text) => parseCidr("allowedCIDRs", text));
  const denied = (policy.deniedCIDRs ?? []).map((text) => parseCidr("deniedCIDRs", text));
  if (hosts.includes("*") || allowed.some(isEverything)) {
    // What is left to say is which closed ranges are opened, and which addresses are not.
    const opened = subtractCidrs(
      allowed.filter((range) => range.prefix > 0),
      denied,
    ).map(formatCidr);
    return { ...(opened.length > 0 && { allowOut: opened }), ...(denied.length > 0 && { denyOut: denied.map(formatCidr) }) };
  }
  const open = denied.find((range) => !CLOSED_TO_NAMES.some((closed) => isWithin(range, closed)));
  if (hosts.length > 0 && open !== undefined) {
    throw new UnimplementedError(
      `deniedCIDRs has ${formatCidr(open)}, which the rules of a sandbox cannot take away from allowedHosts: leave it out, or allow addresses instead of names`,
    );
  }
  const allowOut = [...hosts, ...subtractCidrs(allowed, denied).map(formatCidr)];
  return { ...(allowOut.length > 0 && { allowOut }), denyOut: [ALL_TRAFFIC] };
}

/** As in the rules of a sandbox, where either of them means both families of addresses. */
function isEverything({ prefix }: Cidr): boolean {
  return prefix === 0;
}
