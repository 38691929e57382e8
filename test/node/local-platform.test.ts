import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FailedPreconditionError } from "../../src/errors/error-classes.js";
import { findOrStartLocalPlatform } from "../../src/node/local-platform.js";

describe("finding the local platform", () => {
  let runDir = "";
  let server: Server;
  let url = "";

  beforeEach(async () => {
    runDir = await mkdtemp(path.join(tmpdir(), "abx-run-"));
    vi.stubEnv("AGENT_SANDBOX_DATA_DIR", path.join(runDir, "data"));
    vi.stubEnv("AGENT_SANDBOX_RUN_DIR", runDir);
    server = createServer((_request, response) => response.writeHead(204).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    server.close();
    await rm(runDir, { recursive: true, force: true });
  });

  const writePlatformFile = async (mode: number): Promise<void> => {
    const file = { version: "0", pid: process.pid, port: Number(new URL(url).port), url, apiKey: "key", startedAt: "2026-01-01T00:00:00Z" };
    await writeFile(path.join(runDir, "platform.json"), JSON.stringify(file));
    await chmod(path.join(runDir, "platform.json"), mode);
  };

  it("returns the running one from its private file", async () => {
    await writePlatformFile(0o600);
    expect(await findOrStartLocalPlatform()).toEqual({ apiUrl: url, sandboxUrl: url, apiKey: "key" });
  });

  it("refuses a file that other users can read, and says what to do", async () => {
    await writePlatformFile(0o644);
    await expect(findOrStartLocalPlatform()).rejects.toThrow(/can be read by other users; remove it/);
  });

  it("refuses a run directory that other users can write", async () => {
    await chmod(runDir, 0o777);
    await expect(findOrStartLocalPlatform()).rejects.toBeInstanceOf(FailedPreconditionError);
  });

  it("rejects with the reason of an aborted signal", async () => {
    const reason = new Error("stop");
    await expect(findOrStartLocalPlatform({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
