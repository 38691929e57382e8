import fc from "fast-check";
import { expect, it } from "vitest";
import { parseCidr } from "../../../src/agent/ai-sdk/cidr.js";
import { type SandboxNetworkPolicy, toEgressRules } from "../../../src/agent/ai-sdk/network-policy.js";
import { toHeaderRules } from "../../../src/agent/ai-sdk/request-transformations.js";
import { isInNetwork, parseAddress, parseNetwork } from "../../../src/control/egress/ip-network.js";
import { NetworkPolicy } from "../../../src/control/egress/network-policy.js";
import { toNetworkConfig } from "../../../src/control/rest/network-body.js";

/** What the platform itself decides with the rules that a policy becomes, for an address that a name or the address itself led to. */
function isAllowed(policy: SandboxNetworkPolicy, address: string, host = address, port = 443): boolean {
  const { allowOut, denyOut } = toEgressRules(policy);
  const network = toNetworkConfig(
    { ...(allowOut && { allowOut: [...allowOut] }), ...(denyOut && { denyOut: [...denyOut] }) },
    undefined,
    true,
  );
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(address);
  return new NetworkPolicy({ allowInternetAccess: undefined, network }).decide({ host, port }, parsed, []).isAllowed;
}

const isIn = (address: string, range: string) => {
  const [one, network] = [parseAddress(address), parseNetwork(range)];
  return one !== undefined && network !== undefined && isInNetwork(one, network);
};

it("the presets open the public internet, or nothing", () => {
  expect(isAllowed({ mode: "allow-all" }, "20.1.2.3")).toBe(true);
  expect(isAllowed({ mode: "allow-all" }, "169.254.169.254")).toBe(false);
  for (const address of ["20.1.2.3", "2606:4700::1", "10.0.0.1"]) expect(isAllowed({ mode: "deny-all" }, address)).toBe(false);
  expect(isAllowed({ mode: "custom", allowedHosts: [] }, "20.1.2.3")).toBe(false);
  expect(isAllowed({ mode: "custom", allowedCIDRs: ["20.0.0.0/8"], deniedCIDRs: ["0.0.0.0/0"] }, "20.1.2.3")).toBe(false);
});

it("names are allowed at any address but those that names never open", () => {
  const policy = {
    mode: "custom",
    allowedHosts: ["api.example.com", "*.wide.example"],
    deniedCIDRs: ["169.254.0.0/16", "fe80::/10"],
  } as const;
  expect(isAllowed(policy, "20.1.2.3", "api.example.com")).toBe(true);
  expect(isAllowed(policy, "20.1.2.3", "a.wide.example")).toBe(true);
  expect(isAllowed(policy, "20.1.2.3", "other.example")).toBe(false);
  expect(isAllowed(policy, "169.254.169.254", "api.example.com")).toBe(false);
});

it("everything without some addresses leaves the rest open", () => {
  for (const all of [
    { allowedHosts: ["*"] },
    { allowedCIDRs: ["0.0.0.0/0"] },
    { allowedHosts: ["*", "a.example"], allowedCIDRs: ["10.1.0.0/16"] },
  ]) {
    const policy: SandboxNetworkPolicy = { mode: "custom", ...all, deniedCIDRs: ["20.1.0.0/16", "10.1.2.0/24", "2606:4700::/32"] };
    expect(isAllowed(policy, "20.2.0.1", "a.example")).toBe(true);
    expect(isAllowed(policy, "20.1.0.1", "a.example")).toBe(false);
    expect(isAllowed(policy, "2606:4700::1")).toBe(false);
    expect(isAllowed(policy, "2a00::1")).toBe(true);
    expect(isAllowed(policy, "10.1.3.1")).toBe(all.allowedCIDRs?.includes("10.1.0.0/16") === true);
    expect(isAllowed(policy, "10.1.2.1")).toBe(false);
  }
});

it("denied ranges win over allowed ones at every address", () => {
  const range = fc.oneof(
    fc
      .tuple(fc.constantFrom(20, 10), fc.nat(7), fc.nat(7), fc.integer({ min: 9, max: 32 }))
      .map(([a, b, c, prefix]) => `${a}.${b}.${c}.1/${prefix}`),
    fc
      .tuple(fc.constantFrom("2606:4700", "fd00:1"), fc.nat(7), fc.integer({ min: 30, max: 128 }))
      .map(([head, n, prefix]) => `${head}:${n}::1/${prefix}`),
  );
  const address = fc.oneof(
    fc.tuple(fc.constantFrom(20, 10), fc.nat(9), fc.nat(9), fc.nat(3)).map((parts) => parts.join(".")),
    fc.tuple(fc.constantFrom("2606:4700", "fd00:1"), fc.nat(9), fc.nat(3)).map(([head, n, last]) => `${head}:${n}::${last}`),
  );
  fc.assert(
    fc.property(
      fc.array(range, { minLength: 1, maxLength: 4 }),
      fc.array(range, { maxLength: 4 }),
      address,
      (allowedCIDRs, deniedCIDRs, one) => {
        const expected = allowedCIDRs.some((cidr) => isIn(one, cidr)) && !deniedCIDRs.some((cidr) => isIn(one, cidr));
        expect(isAllowed({ mode: "custom", allowedCIDRs, deniedCIDRs }, one)).toBe(expected);
      },
    ),
    { numRuns: 2_000 },
  );
});

it("what the rules cannot say is refused, and nothing is left out silently", () => {
  const cases: readonly [SandboxNetworkPolicy, RegExp][] = [
    [
      { mode: "custom", allowedHosts: ["a.example"], deniedCIDRs: ["20.0.0.0/8"] },
      /20\.0\.0\.0\/8, which the rules .* cannot take away from allowedHosts/,
    ],
    [{ mode: "custom", allowedHosts: ["a.example"], deniedCIDRs: ["0.0.0.0/0"] }, /cannot take away/],
    [{ mode: "custom", allowedCIDRs: ["nonsense"] }, /allowedCIDRs has "nonsense", which is no IP address and no CIDR range/],
    [{ mode: "custom", allowedCIDRs: [], deniedCIDRs: ["1.2.3.4/33"] }, /deniedCIDRs has "1.2.3.4\/33"/],
    [{ mode: "other" } as unknown as SandboxNetworkPolicy, /"allow-all", "deny-all" or "custom", not "other"/],
  ];
  for (const [policy, words] of cases) expect(() => toEgressRules(policy)).toThrow(words);
});

it("ranges are read as the platform reads them", () => {
  for (const text of [
    "1.2.3.4",
    "1.2.3.4/0",
    "255.255.255.255/31",
    "::",
    "::1/64",
    "2606:4700::1.2.3.4/100",
    "fe80::1",
    "1:2:3:4:5:6:7:8/127",
  ]) {
    const { version, value, prefix } = parseCidr("x", text);
    expect({ version, value, prefix }).toEqual(parseNetwork(text));
  }
  for (const text of [
    "",
    "/",
    "1.2.3",
    "1.2.3.04",
    "1.2.3.256",
    "1.2.3.4/",
    "1.2.3.4/-1",
    "fe80::1%eth0",
    ":::",
    "::/129",
    "[::1]",
    "a.example",
    "1.2.3.4/8/8",
  ]) {
    expect(() => parseCidr("x", text)).toThrow(/no CIDR range/);
  }
});

it("header rules are those of whole hosts, the last for a header counts, and any other condition is refused", () => {
  const to = (host: string, headers: Record<string, string>) => ({ match: { host }, transform: { headers } });
  expect(
    toHeaderRules([
      to("API.example", { Authorization: "a", "X-One": "1" }),
      to("api.example", { authorization: "b" }),
      to("*.b.example", {}),
    ]),
  ).toEqual({
    "api.example": [{ transform: { headers: { authorization: "b", "X-One": "1" } } }],
    "*.b.example": [{ transform: { headers: {} } }],
  });
  for (const condition of [
    { path: { exact: "/x" } },
    { method: ["GET"] },
    { queryString: [{ key: { exact: "a" } }] },
    { headers: [{ value: { exact: "b" } }] },
  ]) {
    expect(() => toHeaderRules([{ match: { host: "api.example", ...condition }, transform: { headers: {} } }])).toThrow(
      /api\.example has the condition match\./,
    );
  }
  const empty = { host: "api.example", method: [], headers: [], queryString: [] };
  expect(toHeaderRules([{ match: empty, transform: { headers: { A: "1" } } }])).toEqual({
    "api.example": [{ transform: { headers: { A: "1" } } }],
  });
});
