import { release } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findRuntimes } from "../../src/control/drivers/oci/runtime-probe.js";
import { Sandbox } from "../../src/index.js";
import { type StartedPlatform, startTestPlatform } from "../support/test-platform.js";

const isInstalled = findRuntimes(["runsc"]).length > 0;

describe.skipIf(!isInstalled)("a platform that runs sandboxes in gVisor", { timeout: 120_000 }, () => {
  let started: StartedPlatform;
  let connection: { readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string };

  beforeAll(async () => {
    started = await startTestPlatform({ AGENT_SANDBOX_RUNTIME: "runsc", AGENT_SANDBOX_POOL_SIZE: "0" });
    const { context } = started;
    if (context.isAvailable) connection = { apiUrl: context.apiUrl, sandboxUrl: context.sandboxUrl, apiKey: context.apiKey };
  }, 120_000);
  // Rejects when a process, a socket or a directory is left.
  afterAll(() => started.stop(), 120_000);

  it("runs commands, files and terminals on another kernel, and says so", async (context) => {
    if (!started.context.isAvailable) context.skip(started.context.reason);
    const sandbox = await Sandbox.create("base", { ...connection, minimumIsolation: "gvisor", timeoutMs: 120_000 });
    try {
      expect(await sandbox.getIsolation()).toMatchObject({ level: "gvisor", runtime: "runsc", seccomp: "runtime" });
      expect((await sandbox.getIsolation()).limits.processes).toBeUndefined();
      const { stdout } = await sandbox.commands.run("cat /proc/version; id -un");
      // The version that gVisor's own kernel tells.
      expect(stdout).toMatch(/^Linux version 4\.4\.0 /);
      expect(stdout).not.toContain(release());
      expect(stdout).toMatch(/\nuser\n$/);
      expect((await sandbox.commands.run("cat", { stdin: true, background: true })).pid).toBeGreaterThan(0);
      let screen = "";
      const terminal = await sandbox.pty.create({
        cols: 80,
        rows: 24,
        onData: (data) => {
          screen += new TextDecoder().decode(data);
        },
      });
      await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("echo $((6*7))\n"));
      await expect.poll(() => screen, { timeout: 20_000 }).toContain("42");
      await sandbox.files.write("/home/user/a", "written");
      expect(await sandbox.files.read("/home/user/a")).toBe("written");
      // The host never connects to a name that the guest can replace.
      const replaced = await sandbox.commands.run(
        "rm -f /opt/agent-sandbox-socket/*; ln -s /run/docker.sock /opt/agent-sandbox-socket/daemon.sock; readlink /opt/agent-sandbox-socket/daemon.sock",
        { user: "root" },
      );
      expect(replaced.stdout).toBe("/run/docker.sock\n");
      expect((await sandbox.commands.run("echo alive")).stdout).toBe("alive\n");
    } finally {
      await sandbox.kill();
    }
  });
});
