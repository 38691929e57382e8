import type { EnforcedLimits, SandboxIsolation } from "../index.js";

/** Rows of a table: how something is isolated, and what is not protected. */
export function toIsolationRows(
  isolation: Omit<SandboxIsolation, "limits"> & { readonly limits: EnforcedLimits | Readonly<Record<string, boolean>> },
): [string, string][] {
  return [
    ["level", isolation.level],
    ["runtime", `${isolation.runtime} ${isolation.runtimeVersion}`],
    ["namespaces", isolation.namespaces.join(" ")],
    ["root inside", `uid ${isolation.hostUidOfRoot} on this machine`],
    ["system calls", isolation.seccomp === "none" ? "not filtered" : `filtered (${isolation.seccomp} profile)`],
    [
      "limits",
      Object.entries(isolation.limits)
        .map(([name, value]) => `${name}: ${typeof value === "boolean" ? (value ? "yes" : "no") : value}`)
        .join(", "),
    ],
    ["network", isolation.network === "none" ? "loopback of its own only" : "through the platform's proxy only"],
    ...isolation.caveats.map((caveat): [string, string] => ["not protected", caveat]),
  ];
}
