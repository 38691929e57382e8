import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BundleOptions, createBundle } from "../../src/control/drivers/oci/bundle.js";
import { SANDBOX_CAPABILITIES } from "../../src/control/drivers/oci/capabilities.js";
import { ConcurrencyGate } from "../../src/control/drivers/oci/concurrency-gate.js";
import { findIdRange, ID_RANGE_SIZE } from "../../src/control/drivers/oci/id-range.js";
import type { OciSyscallRule } from "../../src/control/drivers/oci/oci-spec.js";
import { loadSeccomp } from "../../src/control/drivers/oci/seccomp.js";
import { socketFile } from "../../src/control/drivers/oci/socket-file.js";

const OPTIONS: BundleOptions = {
  id: "i1",
  idRange: { base: 231_072, size: ID_RANGE_SIZE },
  runtimeDir: "/data/runtime/abc",
  cgroupsPath: "/agent-sandbox/x/i1",
  limits: { memoryBytes: 1_000_000, cpuCount: 1.5, pidsMax: 7 },
  host: { hardOpenFiles: 4096, oomScoreAdj: 0, controllers: { memory: true, cpu: true, pids: true }, swapLimit: true },
  seccomp: { defaultAction: "SCMP_ACT_ERRNO", architectures: [], syscalls: [] },
};

describe("OCI bundle", () => {
  it("maps every id of the sandbox to the range and has all namespaces", () => {
    const { linux } = createBundle(OPTIONS);
    expect(linux.uidMappings).toEqual([{ containerID: 0, hostID: 231_072, size: 65_536 }]);
    expect(linux.gidMappings).toEqual(linux.uidMappings);
    expect(linux.namespaces.map(({ type }) => type).sort()).toEqual(["cgroup", "ipc", "mount", "network", "pid", "user", "uts"]);
  });

  it("sets the limits that the machine can enforce, with no swap on top of the memory", () => {
    expect(createBundle(OPTIONS).linux.resources).toEqual({
      devices: [{ allow: false, access: "rwm" }],
      memory: { limit: 1_000_000, swap: 1_000_000 },
      cpu: { quota: 150_000, period: 100_000 },
      pids: { limit: 7 },
    });
    const host = { ...OPTIONS.host, controllers: { memory: false, cpu: false, pids: false } };
    expect(createBundle({ ...OPTIONS, host }).linux.resources).toEqual({ devices: [{ allow: false, access: "rwm" }] });
    expect(createBundle({ ...OPTIONS, host: { ...OPTIONS.host, swapLimit: false } }).linux.resources.memory).toEqual({ limit: 1_000_000 });
  });

  it("asks for no limit above this process's own and never lowers the kernel's choice to kill it", () => {
    const { rlimits, oomScoreAdj } = createBundle(OPTIONS).process;
    expect(rlimits).toContainEqual({ type: "RLIMIT_NOFILE", soft: 4096, hard: 4096 });
    expect(oomScoreAdj).toBeGreaterThan(0);
    expect(createBundle({ ...OPTIONS, host: { ...OPTIONS.host, oomScoreAdj: 900 } }).process.oomScoreAdj).toBe(900);
  });

  it("shares one host directory only, read-only", () => {
    const shared = createBundle(OPTIONS).mounts.filter(({ type }) => type === "bind");
    expect(shared).toEqual([
      { destination: "/opt/agent-sandbox", type: "bind", source: "/data/runtime/abc", options: ["rbind", "ro", "nosuid", "nodev"] },
    ]);
  });

  it("gives no capability that acts on the host", () => {
    const { bounding } = createBundle(OPTIONS).process.capabilities;
    for (const name of [
      "SYS_ADMIN",
      "SYS_MODULE",
      "SYS_PTRACE",
      "SYS_RAWIO",
      "NET_ADMIN",
      "SYS_TIME",
      "DAC_READ_SEARCH",
      "BPF",
      "PERFMON",
    ]) {
      expect(bounding).not.toContain(`CAP_${name}`);
    }
  });
});

describe("seccomp filter", () => {
  const { EPERM, ENOSYS } = constants.errno;
  const rulesOf = (rules: readonly OciSyscallRule[], name: string) => rules.filter(({ names }) => names.includes(name));

  const withProfile = <T>(profile: unknown, check: (path: string) => T): T => {
    const directory = mkdtempSync(join(tmpdir(), "abx-seccomp-"));
    const path = join(directory, "seccomp.json");
    try {
      writeFileSync(path, typeof profile === "string" ? profile : JSON.stringify(profile));
      return check(path);
    } finally {
      rmSync(directory, { recursive: true });
    }
  };

  const PROFILE = {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: ENOSYS,
    syscalls: [
      { names: ["read", "mount", "clone", "clone3", "unshare", "keyctl"], action: "SCMP_ACT_ALLOW", args: [], includes: {}, excludes: {} },
      { names: ["bpf"], action: "SCMP_ACT_ALLOW", args: null, includes: { caps: ["CAP_SYS_ADMIN"] }, excludes: {} },
      { names: ["bpf"], action: "SCMP_ACT_ERRNO", errnoRet: EPERM, includes: {}, excludes: { caps: ["CAP_SYS_ADMIN"] } },
      { names: ["chroot"], action: "SCMP_ACT_ALLOW", includes: { caps: ["CAP_SYS_CHROOT"] } },
      { names: ["s390_runtime_instr"], action: "SCMP_ACT_ALLOW", includes: { arches: ["s390x"] } },
      { names: ["personality"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: 8, valueTwo: 0, op: "SCMP_CMP_EQ" }] },
    ],
  };

  it("keeps the rules whose conditions hold for our capabilities and processor", () => {
    const { source, filter } = withProfile(PROFILE, (path) => loadSeccomp(SANDBOX_CAPABILITIES, path));
    expect(source).toBe("ecosystem");
    expect(filter).toMatchObject({ defaultAction: "SCMP_ACT_ERRNO", defaultErrnoRet: ENOSYS });
    expect(rulesOf(filter.syscalls, "read")).toEqual([{ names: ["read"], action: "SCMP_ACT_ALLOW" }]);
    expect(rulesOf(filter.syscalls, "bpf")).toEqual([{ names: ["bpf"], action: "SCMP_ACT_ERRNO", errnoRet: EPERM }]);
    expect(rulesOf(filter.syscalls, "chroot")).toHaveLength(1);
    expect(rulesOf(filter.syscalls, "s390_runtime_instr")).toEqual([]);
    expect(rulesOf(filter.syscalls, "personality")[0]?.args).toEqual([{ index: 0, value: 8, valueTwo: 0, op: "SCMP_CMP_EQ" }]);
  });

  it.each([
    ["the profile of the machine", PROFILE, "ecosystem"],
    ["no usable profile", "{ not json", "built-in"],
    ["a profile without rules", { defaultAction: "SCMP_ACT_ALLOW" }, "built-in"],
  ] as const)("with %s, mounts, keys and user namespaces are closed", (_name, profile, expected) => {
    const { source, filter } = withProfile(profile, (path) => loadSeccomp(SANDBOX_CAPABILITIES, path));
    expect(source).toBe(expected);
    for (const name of ["mount", "umount2", "keyctl", "setns", "pivot_root", "io_uring_setup", "move_mount"]) {
      expect(rulesOf(filter.syscalls, name)).toMatchObject([{ action: "SCMP_ACT_ERRNO", errnoRet: EPERM }]);
    }
    expect(rulesOf(filter.syscalls, "clone3")).toMatchObject([{ action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS }]);
    for (const name of ["clone", "unshare"]) {
      const refused = rulesOf(filter.syscalls, name).filter(({ action }) => action === "SCMP_ACT_ERRNO");
      expect(refused).toMatchObject([{ errnoRet: EPERM, args: [{ index: 0, value: 0x1000_0000, valueTwo: 0x1000_0000 }] }]);
    }
  });
});

describe("id range", () => {
  it("is the block of the owner in /etc/subuid", () => {
    expect(findIdRange("root", "alice:100000:65536\nroot:500000:65536\n")).toEqual({ base: 500_000, size: 65_536 });
    expect(findIdRange("alice", "alice:100000:65536\n")).toEqual({ base: 100_000, size: 65_536 });
  });

  it("is nothing for a user without a large enough block", () => {
    expect(findIdRange("alice", "")).toBeUndefined();
    expect(findIdRange("alice", "alice:100000:1000\n")).toBeUndefined();
  });

  it("never overlaps a block of somebody else", () => {
    const entry = fc.record({ base: fc.integer({ min: 0, max: 2_000_000 }), size: fc.integer({ min: 1, max: 200_000 }) });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 20 }), (entries) => {
        const text = entries.map(({ base, size }, index) => `user${index}:${base}:${size}`).join("\n");
        const range = findIdRange("root", text);
        expect(range?.base).toBeGreaterThanOrEqual(100_000);
        for (const { base, size } of entries) {
          expect(base + size <= Number(range?.base) || base >= Number(range?.base) + ID_RANGE_SIZE).toBe(true);
        }
      }),
    );
  });
});

describe("socket path", () => {
  it("is refused with advice when the kernel could not take it", () => {
    expect(socketFile("/run/agent-sandbox/sockets", "i1")).toBe("/run/agent-sandbox/sockets/i1.sock");
    expect(() => socketFile(`/${"x".repeat(100)}`, "i1")).toThrow(/AGENT_SANDBOX_RUN_DIR/);
  });
});

describe("concurrency gate", () => {
  it("runs at most its limit at once, in order, and goes on after failures", async () => {
    const gate = new ConcurrencyGate(2);
    const started: number[] = [];
    const finish: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const works = Array.from({ length: 6 }, (_, index) =>
      gate.run(async () => {
        started.push(index);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => finish.push(resolve));
        running -= 1;
        if (index % 2 === 0) throw new Error(`work ${index}`);
        return index;
      }),
    );
    const outcomes = Promise.allSettled(works);
    for (let index = 0; index < 6; index += 1) {
      await expect.poll(() => finish.length).toBeGreaterThan(index);
      finish[index]?.();
    }
    expect((await outcomes).map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
    expect(most).toBe(2);
  });
});
