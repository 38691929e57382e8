import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesHost, toHostName, toHostPattern } from "../../src/control/egress/host-name.js";
import { HostProxies } from "../../src/control/egress/host-proxy.js";
import { isInNetwork, parseAddress, parseNetwork } from "../../src/control/egress/ip-network.js";
import type { NetworkConfig } from "../../src/control/egress/network-config.js";
import { NetworkPolicy } from "../../src/control/egress/network-policy.js";
import { findSpecialRange } from "../../src/control/egress/special-addresses.js";

function decide(network: NetworkConfig, host: string, address = host, port = 443, allowInternetAccess?: boolean): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`${address} is no address`);
  return new NetworkPolicy({ allowInternetAccess, network }).decide({ host, port }, parsed, []).isAllowed;
}

const octets = fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 0, max: 255 })));
const publicAddress = octets.map((parts) => parts.join(".")).filter((text) => findSpecialRange(parseAddress(text) as never) === undefined);
const cidr = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(([ip, prefix]) => `${ip}/${prefix}`);

describe("network policy", () => {
  it("allows the public internet and nothing special by default", () => {
    fc.assert(fc.property(publicAddress, fc.integer({ min: 1, max: 65535 }), (ip, port) => decide({}, ip, ip, port)));
    const special = [
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "127.0.0.1",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "198.18.0.1",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "fc00::1",
      "fd12::1",
      "fe80::1",
      "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:10.0.0.1",
      "::127.0.0.1",
      "64:ff9b::7f00:1",
      "64:ff9b::a9fe:a9fe",
      "2002:7f00:1::",
      "2001::1",
      "fec0::1",
    ];
    for (const ip of special) expect(decide({}, ip), ip).toBe(false);
    for (const ip of ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"]) expect(decide({}, ip), ip).toBe(true);
  });

  it("NET-14: an empty allow list, a deny of everything and no internet access each fail closed, IPv6 as well", () => {
    const closed: [NetworkConfig, boolean | undefined][] = [
      [{ allowOut: [] }, undefined],
      [{ denyOut: ["0.0.0.0/0"] }, undefined],
      [{ denyOut: ["::/0"] }, undefined],
      [{}, false],
      [{ allowOut: [], denyOut: ["0.0.0.0/0"] }, false],
      [{ allowOut: [] }, true],
    ];
    for (const [network, access] of closed) {
      expect(new NetworkPolicy({ network, allowInternetAccess: access }).isClosed).toBe(true);
      fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => !decide(network, ip, ip, 443, access)));
    }
    expect(new NetworkPolicy({ network: {}, allowInternetAccess: undefined }).isClosed).toBe(false);
  });

  it("lets an allow entry win over every deny", () => {
    fc.assert(
      fc.property(publicAddress, fc.array(cidr), (ip, denyOut) => decide({ allowOut: [ip], denyOut: [...denyOut, "0.0.0.0/0"] }, ip)),
    );
    fc.assert(
      fc.property(publicAddress, publicAddress, (ip, other) => ip === other || !decide({ allowOut: [ip], denyOut: ["0.0.0.0/0"] }, other)),
    );
  });

  it("denies exactly the addresses of the deny ranges", () => {
    fc.assert(
      fc.property(publicAddress, cidr, (ip, range) => {
        const network = parseNetwork(range);
        const address = parseAddress(ip);
        if (network === undefined || address === undefined || network.prefix === 0) return true;
        return decide({ denyOut: [range] }, ip) === !isInNetwork(address, network);
      }),
    );
  });

  it("opens a special address only to an entry that lies inside its range", () => {
    expect(decide({ allowOut: ["0.0.0.0/0"] }, "127.0.0.1")).toBe(false);
    expect(decide({ allowOut: ["0.0.0.0/1"] }, "10.0.0.1")).toBe(false);
    expect(decide({ allowOut: ["10.0.0.0/8"] }, "10.0.0.1")).toBe(true);
    expect(decide({ allowOut: ["127.0.0.2"] }, "127.0.0.2")).toBe(true);
    expect(decide({ allowOut: ["127.0.0.2/32"] }, "127.0.0.1")).toBe(false);
    expect(decide({ allowOut: ["::ffff:10.0.0.0/104"] }, "10.9.9.9")).toBe(true);
    expect(decide({ allowOut: ["*.example", "evil.example"], denyOut: ["0.0.0.0/0"] }, "evil.example", "127.0.0.1")).toBe(false);
  });

  it("opens names on the ports of HTTP and TLS only", () => {
    const network = { allowOut: ["api.example", "*.wild.example"], denyOut: ["0.0.0.0/0"] };
    expect(decide(network, "api.example", "1.2.3.4")).toBe(true);
    expect(decide(network, "api.example", "1.2.3.4", 80)).toBe(true);
    expect(decide(network, "api.example", "1.2.3.4", 22)).toBe(false);
    expect(decide(network, "a.b.wild.example", "1.2.3.4")).toBe(true);
    expect(decide(network, "wild.example", "1.2.3.4")).toBe(false);
    expect(decide(network, "notwild.example", "1.2.3.4")).toBe(false);
    expect(decide(network, "1.2.3.4")).toBe(false);
  });

  it("takes this machine's own public addresses for special", () => {
    const own = [parseAddress("8.8.4.4") as never];
    const policy = (allowOut?: string[]) => new NetworkPolicy({ allowInternetAccess: undefined, network: allowOut ? { allowOut } : {} });
    const ask = (allowOut?: string[]) => policy(allowOut).decide({ host: "8.8.4.4", port: 80 }, own[0] as never, own).isAllowed;
    expect([ask(), ask(["0.0.0.0/0"]), ask(["8.8.0.0/16"]), ask(["8.8.4.4"])]).toEqual([false, false, false, true]);
  });
});

describe("names and addresses", () => {
  it("compares names in one form", () => {
    expect(toHostName("EXAMPLE.com.")).toBe("example.com");
    expect(toHostName("bücher.example")).toBe("xn--bcher-kva.example");
    for (const bad of ["", ".", "a..b", "-a.example", "a b", "a/b", "x".repeat(64), "*", "a\0b"])
      expect(toHostName(bad), bad).toBeUndefined();
    expect(toHostPattern("*.Example.com")).toBe("*.example.com");
    for (const bad of ["*", "*.", "a.*.b", "**.a"]) expect(toHostPattern(bad), bad).toBeUndefined();
    expect(matchesHost("*.example.com", "example.com")).toBe(false);
    expect(matchesHost("*.example.com", ".example.com")).toBe(false);
  });

  it("reads every address that node reads, and ranges with their prefix", () => {
    fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => parseAddress(ip) !== undefined));
    expect(parseAddress("::ffff:1.2.3.4")).toEqual(parseAddress("1.2.3.4"));
    expect(parseAddress("fe80::1%eth0")).toBeUndefined();
    for (const bad of ["1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/8/8", "::/129", "a/8", "::ffff:1.2.3.4/95"])
      expect(parseNetwork(bad), bad).toBeUndefined();
  });

  it("finds the proxy of this machine as curl does", () => {
    const proxies = new HostProxies({
      HTTPS_PROXY: "http://p:8080",
      http_proxy: "q:3128",
      NO_PROXY: "localhost,.corp.example,10.0.0.0/8,one.example:8443",
    });
    const find = (host: string, port = 443) => proxies.find({ host, port }, "tunnel")?.url.host;
    expect(find("a.example")).toBe("p:8080");
    expect(proxies.find({ host: "a.example", port: 80 }, "http")?.url.host).toBe("q:3128");
    expect([find("x.corp.example"), find("corp.example"), find("10.1.1.1"), find("localhost"), find("one.example", 8443)]).toEqual(
      Array(5).fill(undefined),
    );
    expect(find("one.example")).toBe("p:8080");
    expect(new HostProxies({}).find({ host: "a.example", port: 443 }, "tunnel")).toBeUndefined();
  });
});
