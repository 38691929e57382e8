import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { type StartedPlatform, startTestPlatform } from "../support/test-platform.js";

const DISK_MB = 64;

describe("a platform that limits disks", () => {
  let started: StartedPlatform;
  let connection: { readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string };

  beforeAll(async () => {
    started = await startTestPlatform({ AGENT_SANDBOX_DISK_MB: String(DISK_MB), AGENT_SANDBOX_POOL_SIZE: "1" });
    const { context } = started;
    if (context.isAvailable) connection = { apiUrl: context.apiUrl, sandboxUrl: context.sandboxUrl, apiKey: context.apiKey };
  });
  // Rejects when a mount, a loop device's file or a directory is left.
  afterAll(() => started.stop());

  const onPlatform = (title: string, test: () => Promise<void>) =>
    it(title, async (context) => {
      if (!started.context.isAvailable) context.skip(started.context.reason);
      await test();
    });

  onPlatform("a full disk is a typed error and the sandbox goes on", async () => {
    const sandbox = await Sandbox.create("base", { ...connection, timeoutMs: 300_000 });
    try {
      expect((await sandbox.getIsolation()).limits.diskMB).toBe(DISK_MB);
      const tooMuch = new Uint8Array((DISK_MB + 8) * 1024 * 1024);
      await expect(sandbox.files.write("/home/user/large", tooMuch)).rejects.toMatchObject({ name: "NotEnoughSpaceError" });
      const filled = await sandbox.commands.run("head -c 1G /dev/zero > /tmp/fill", { user: "root" }).catch((error) => error);
      expect(filled).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("No space left") });
      await sandbox.commands.run("rm /tmp/fill", { user: "root" });
      await sandbox.files.write("/home/user/small", "fits");
      expect(await sandbox.files.read("/home/user/small")).toBe("fits");
    } finally {
      await sandbox.kill();
    }
  });

  onPlatform("what one sandbox wrote is in its snapshot, in its forks and after a pause", async () => {
    const sandbox = await Sandbox.create("base", { ...connection, timeoutMs: 120_000 });
    const api = (method: string, path: string, body?: object) =>
      fetch(`${connection.apiUrl}${path}`, {
        method,
        headers: { "x-api-key": connection.apiKey, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    try {
      await sandbox.files.write("/home/user/kept", "kept");
      const snapshot = await api("POST", `/sandboxes/${sandbox.sandboxId}/snapshots`, {});
      expect(snapshot.status).toBe(201);
      const { snapshotID } = (await snapshot.json()) as { snapshotID: string };
      const copy = await Sandbox.create(snapshotID, { ...connection, timeoutMs: 60_000 });
      expect(await copy.files.read("/home/user/kept")).toBe("kept");
      expect((await copy.getIsolation()).limits.diskMB).toBe(DISK_MB);
      await copy.kill();
      const pause = await api("POST", `/sandboxes/${sandbox.sandboxId}/pause`, { memory: false });
      expect(pause.status).toBe(204);
      await sandbox.connect();
      expect(await sandbox.files.read("/home/user/kept")).toBe("kept");
    } finally {
      await sandbox.kill();
    }
  });
});

it("no loop device stays attached to an image that is gone", () => {
  const attached = readdirSync("/sys/block")
    .filter((name) => name.startsWith("loop"))
    .map((name) => join("/sys/block", name, "loop/backing_file"))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8").trim());
  expect(attached.filter((file) => file.includes("abx-test-") && file.endsWith("(deleted)"))).toEqual([]);
});
