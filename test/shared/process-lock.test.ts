import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeProcessLock } from "../../src/shared/process-lock-node.js";

const never = async (): Promise<boolean> => false;

describe("process lock", () => {
  let directory = "";
  let lockPath = "";
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "abx-lock-"));
    lockPath = path.join(directory, "a.lock");
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it("lets one holder in at a time and leaves no file behind", async () => {
    let holders = 0;
    let most = 0;
    const enter = async (): Promise<void> => {
      const lock = await takeProcessLock(lockPath, never, AbortSignal.timeout(20_000));
      holders += 1;
      most = Math.max(most, holders);
      await new Promise((resolve) => setImmediate(resolve));
      holders -= 1;
      await lock?.release();
    };
    await Promise.all(Array.from({ length: 8 }, enter));
    expect(most).toBe(1);
    expect(await readdir(directory)).toEqual([]);
  });

  it("breaks the lock of a dead process", async () => {
    const child = spawn("true");
    await once(child, "exit");
    await writeFile(lockPath, `${child.pid} 12345 token`);
    const lock = await takeProcessLock(lockPath, never, AbortSignal.timeout(5_000));
    expect(lock).toBeDefined();
    await lock?.release();
  });

  it("breaks a lock whose pid now belongs to another process", async () => {
    await writeFile(lockPath, `${process.pid} 1 token`);
    expect(await takeProcessLock(lockPath, never, AbortSignal.timeout(5_000))).toBeDefined();
  });

  it("stops waiting for a live holder when what it waits for is there, and on abort", async () => {
    const lock = await takeProcessLock(lockPath, never, AbortSignal.timeout(5_000));
    let looks = 0;
    expect(await takeProcessLock(lockPath, async () => ++looks === 3, AbortSignal.timeout(5_000))).toBeUndefined();
    const reason = new Error("enough");
    await expect(takeProcessLock(lockPath, never, AbortSignal.abort(reason))).rejects.toBe(reason);
    await lock?.release();
  });
});
