import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CommandExitError } from "../../src/errors/command-exit-error.js";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { findHostTraces, processesOf, type TracedDirs } from "./support/host-traces.js";

const MIB = 1024 * 1024;

describeOnPlatform("isolation of a sandbox, tried as root inside", (platform) => {
  const connection = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await Sandbox.create("base", { ...connection, timeoutMs: 300_000 });
  });
  afterAll(() => sandbox.kill());

  const asRoot = (command: string, timeoutMs = 20_000) => sandbox.commands.run(command, { user: "root", timeoutMs });
  /** Output and exit code of a command that may fail. */
  const attempt = (command: string) =>
    asRoot(command).catch((error: CommandExitError) => {
      if (error.name !== "CommandExitError") throw error;
      return error;
    });

  describe("ids", () => {
    it("root and every user inside have host ids of at least 100000", async () => {
      const marker = `6${process.pid}.25`;
      for (const [user, id] of [
        ["root", 0],
        ["user", 1000],
      ] as const) {
        const handle = await sandbox.commands.run(`exec sleep ${marker}`, { user, background: true });
        // A shell stands there until it has become the program.
        const findPid = () => processesOf(sandbox.sandboxId).find((candidate) => commandLine(candidate) === `sleep ${marker}`);
        await expect.poll(findPid).toBeDefined();
        const pid = findPid();
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        for (const field of ["Uid", "Gid"]) {
          const ids = new RegExp(`^${field}:\\s+(.*)$`, "m").exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
          expect(ids).toHaveLength(4);
          for (const hostId of ids) {
            expect(hostId).toBeGreaterThanOrEqual(100_000);
            expect(hostId % 65_536).toBe((100_000 + id) % 65_536);
          }
        }
        await handle.kill();
      }
    });

    it("sudo makes the user root of the sandbox, not of the host", async () => {
      const { stdout } = await sandbox.commands.run("sudo sh -c 'id -u; cat /proc/self/uid_map'", { user: "user" });
      const [uid, map] = stdout.trim().split("\n");
      expect(uid).toBe("0");
      expect(map?.trim().split(/\s+/)).toEqual(["0", expect.stringMatching(/^[1-9]\d{5,}$/), "65536"]);
    });
  });

  describe("the host is out of sight", () => {
    it("its processes cannot be seen or signalled", async () => {
      const marker = `7${process.pid}.5`;
      const hostProcess = spawn("sleep", [marker], { stdio: "ignore" });
      try {
        await once(hostProcess, "spawn");
        const { stdout } = await asRoot("ps -eo args");
        expect(stdout).not.toContain(marker);
        expect(stdout).not.toContain("abx");
        await attempt(`kill -9 ${hostProcess.pid} ${process.pid} ${platform.pid}`);
        expect(hostProcess.signalCode).toBeNull();
        const { stdout: pids } = await asRoot("ls /proc | grep -c '^[0-9]'");
        expect(Number(pids)).toBeLessThan(20);
      } finally {
        hostProcess.kill();
      }
    });

    it("its files cannot be read through any path to a root directory", async () => {
      const directory = mkdtempSync(join(tmpdir(), "abx-host-secret-"));
      const file = join(directory, "secret");
      writeFileSync(file, "of the host", { mode: 0o644 });
      try {
        for (const prefix of ["", "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/../../../../../..", "/proc/1/root/.."]) {
          expect(await attempt(`cat ${prefix}${file}`)).toMatchObject({ exitCode: 1, stdout: "" });
        }
        await asRoot(`ln -s ${file} /tmp/link && ln -s /proc/1/root/../../.. /tmp/up`);
        expect(await attempt(`cat /tmp/link /tmp/up${file}`)).toMatchObject({ exitCode: 1, stdout: "" });
        await expect(sandbox.files.read("/tmp/link", { user: "root" })).rejects.toMatchObject({ name: "FileNotFoundError" });
      } finally {
        rmSync(directory, { recursive: true });
      }
    });

    it("its disks, memory and kernel log are not there", async () => {
      const { stdout } = await asRoot(
        "find /dev -type b; ls /dev/mem /dev/kmem /dev/kvm /dev/fuse /dev/net/tun 2>/dev/null; find /dev -type c | sort",
        5_000,
      ).catch((error: CommandExitError) => error);
      const allowed = ["full", "null", "ptmx", "random", "tty", "urandom", "zero"].map((name) => `/dev/${name}`);
      const found = stdout.split("\n").filter((path) => path !== "" && !path.startsWith("/dev/pts/"));
      expect(allowed).toEqual(expect.arrayContaining(found));
      expect((await attempt("head -c 1 /proc/kcore | wc -c")).stdout.trim()).toBe("0");
      expect(await attempt("dmesg")).toMatchObject({ exitCode: 1 });
    });
  });

  describe("the network of the host is out of reach", () => {
    let server: Server;
    let requests = 0;

    beforeAll(async () => {
      server = createServer((_request, response) => {
        requests += 1;
        response.end("host");
      }).listen(0, "0.0.0.0");
      await once(server, "listening");
    });
    afterAll(() => server.close());

    it("loopback, gateway and platform addresses are closed", async () => {
      const { port } = server.address() as AddressInfo;
      const platformPort = new URL(platform.apiUrl).port;
      for (const target of [
        `127.0.0.1:${port}`,
        `localhost:${port}`,
        `[::1]:${port}`,
        `0.0.0.0:${port}`,
        `127.0.0.1:${platformPort}`,
        `10.0.0.1:${port}`,
        "169.254.169.254:80",
      ]) {
        const outcome = await attempt(`curl --noproxy '*' -sS -m 5 http://${target}/`);
        expect(outcome.exitCode).not.toBe(0);
        expect(outcome.stdout).toBe("");
      }
      expect(requests).toBe(0);
    });

    it("the only interface is loopback, and it is up", async () => {
      const { stdout } = await asRoot("ls /sys/class/net; ip -o link show lo; ip route");
      expect(stdout.split("\n")[0]).toBe("lo");
      expect(stdout).toContain("LOOPBACK,UP");
      expect(stdout).not.toMatch(/^default/m);
      expect(
        (
          await asRoot(
            "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 100); do curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8123/ && break; sleep 0.05; done; kill $!",
          )
        ).stdout,
      ).toContain("200");
    });
  });

  describe("the kernel refuses", () => {
    it.each([
      ["a block device", "mknod /tmp/disk b 8 0"],
      ["a character device", "mknod /tmp/mem c 1 1"],
      ["a mount of tmpfs", "mount -t tmpfs none /mnt"],
      ["a bind mount", "mount --bind /etc /mnt"],
      ["a new proc", "mount -t proc proc /mnt"],
      ["a remount of the read-only mounts", "mount -o remount,rw /proc/sys"],
      ["taking a mount away", "umount /proc/kcore"],
      ["a nested user namespace", "unshare --user --map-root-user true"],
      ["a mount namespace", "unshare --mount true"],
      ["joining the namespaces of pid 1", "nsenter --target 1 --mount --net true"],
      ["a change of the host's kernel settings", "echo 1 > /proc/sys/vm/drop_caches"],
      ["system requests", "echo b > /proc/sysrq-trigger"],
      ["a core pattern", "echo '|/bin/sh' > /proc/sys/kernel/core_pattern"],
      ["a usermode helper", "echo /bin/sh > /sys/kernel/uevent_helper"],
      ["a new cgroup", "for c in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $c/escape && exit 0; done; exit 1"],
      [
        "raising its own limits",
        "for f in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do echo 99999999999 > $f && exit 0; done; exit 1",
      ],
      ["a kernel module", 'python3 -c "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); exit(0 if l.syscall(175,0,0,0)==0 else 1)"'],
      ["io_uring", 'python3 -c "import ctypes; l=ctypes.CDLL(None); exit(0 if l.syscall(425,8,0)>=0 else 1)"'],
      ["the clock", "date -s 2001-01-01"],
      ["a new host name of the host", "sysctl -w kernel.domainname=evil"],
      ["changing the daemon", "echo x >> /opt/agent-sandbox/daemon.mjs"],
      ["removing the daemon", "rm /opt/agent-sandbox/daemon.mjs"],
    ])("%s", async (_what, command) => {
      expect((await attempt(command)).exitCode).not.toBe(0);
    });

    it("setuid programs, file capabilities and ptrace reach nothing outside the sandbox's ids", async () => {
      const { stdout } = await asRoot("grep -E '^(CapBnd|Seccomp):' /proc/self/status");
      expect(stdout).toContain("CapBnd:\t00000000a80425fb");
      expect(stdout).toMatch(/Seccomp:\t2/);
    });
  });

  describe("limits", () => {
    it("a process that takes more memory than the sandbox has is stopped, and the sandbox goes on", async () => {
      const outcome = await attempt(`python3 -c "
blocks = []
while True: blocks.append(b'x' * ${16 * MIB})"`);
      expect(outcome.exitCode).not.toBe(0);
      expect((await asRoot("echo alive")).stdout).toBe("alive\n");
    });

    it("a process that forks without end meets the limit, and the sandbox goes on", async () => {
      const { stdout } = await asRoot(`python3 -c "
import os, signal, time
children = []
try:
    while len(children) < 20000:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        children.append(pid)
except OSError: pass
print(len(children))
for pid in children: os.kill(pid, signal.SIGKILL)
for pid in children: os.waitpid(pid, 0)"`);
      expect(Number(stdout)).toBeGreaterThan(10);
      expect(Number(stdout)).toBeLessThan(1_100);
      expect((await asRoot("echo alive")).stdout).toBe("alive\n");
    });

    it("orphans are reaped, so no zombie holds a place", async () => {
      await asRoot("for i in $(seq 50); do (true &) ; done; sleep 0.2");
      await expect.poll(async () => (await attempt("ps -eo stat | grep -c Z")).stdout.trim()).toBe("0");
    });
  });

  it("another sandbox is not there: neither its files, nor its processes, nor its ports", async () => {
    const other = await Sandbox.create("base", { ...connection, timeoutMs: 60_000 });
    try {
      await other.files.write("/tmp/theirs", "secret");
      await other.commands.run("exec python3 -m http.server 8777 --bind 0.0.0.0", { background: true });
      expect(await attempt("cat /tmp/theirs")).toMatchObject({ exitCode: 1 });
      expect((await asRoot("ps -eo args")).stdout).not.toContain("8777");
      expect((await attempt("curl --noproxy '*' -s -m 2 http://127.0.0.1:8777/")).exitCode).not.toBe(0);
    } finally {
      await other.kill();
    }
  });

  it("nothing of a killed sandbox is left, not even trees deeper than any path", async () => {
    const hostile = await Sandbox.create("base", { ...connection, timeoutMs: 60_000 });
    const { sandboxId } = hostile;
    await hostile.commands.run(
      `python3 -c "
import os
os.chdir('/tmp')
for _ in range(400):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
" ; setsid sh -c 'trap "" TERM HUP; sleep 1000' >/dev/null 2>&1 &`,
      { user: "root", timeoutMs: 20_000 },
    );
    const dirs = dirsOfPlatform(platform.pid);
    expect(findHostTraces(dirs, sandboxId)).not.toEqual([]);
    await hostile.kill();
    expect(findHostTraces(dirs, sandboxId)).toEqual([]);
  });

  it("a guest that kills everything inside ends its sandbox and leaves nothing on the host", async () => {
    const victim = await Sandbox.create("base", { ...connection, timeoutMs: 60_000 });
    const { sandboxId } = victim;
    await expect(victim.commands.run("kill -9 -1; sleep 30", { user: "root" })).rejects.toMatchObject({
      name: expect.not.stringMatching("CommandExit"),
    });
    const dirs = dirsOfPlatform(platform.pid);
    await expect.poll(() => findHostTraces(dirs, sandboxId), { timeout: 20_000 }).toEqual([]);
  });
});

function commandLine(pid: number): string {
  return existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1).join(" ") : "";
}

function dirsOfPlatform(pid: number): TracedDirs {
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  const variable = (name: string) => environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
  const runDir = variable("AGENT_SANDBOX_RUN_DIR");
  return { runDir, socketsDir: join(runDir, "sockets"), sandboxesDir: join(variable("AGENT_SANDBOX_DATA_DIR"), "sandboxes") };
}
