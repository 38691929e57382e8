import { afterEach, describe, expect, it, vi } from "vitest";
import { AuthenticationError } from "../../src/index.js";
import { deleteExpiredKeys, FcSandbox, fcConnection, fcControl } from "../../src/sandbox/fc/index.js";
import { resolveConfig } from "../../src/transport/config.js";
import { hideAmbientSettings } from "./support/ambient-settings.js";
import { FcStandIn, REGION } from "./support/stand-in.js";
import { ACCESS_KEY } from "./support/stand-in-control.js";

hideAmbientSettings();
afterEach(() => void vi.useRealTimers());

function openGate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

describe("an access key", () => {
  it("is exchanged once for a key that lives an hour, which is deleted in the end", async () => {
    await using standIn = await FcStandIn.open();
    {
      await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
      expect(standIn.seen).toEqual([]);
      const sandboxes = await Promise.all([FcSandbox.create(connection), FcSandbox.create(connection), FcSandbox.create(connection)]);
      expect(standIn.control.createdKeys).toBe(1);
      const [key] = [...standIn.control.keys.values()];
      const lifeMs = Date.parse(key?.expireTime ?? "") - Date.now();
      expect(lifeMs).toBeGreaterThan(3_590_000);
      expect(lifeMs).toBeLessThanOrEqual(3_600_000);
      for (const sandbox of sandboxes) expect(await sandbox.kill()).toBe(true);
    }
    expect(standIn.control.keys.size).toBe(0);
    expect(standIn.requestsTo("fcsandbox.").map((line) => line.replace(/[\w-]{36}$/, "ID"))).toEqual([
      "POST /pop/2026-05-09/api-keys",
      "DELETE /pop/2026-05-09/api-keys/ID",
    ]);
    const secrets = standIn.seen
      .map(({ headers, body }) => JSON.stringify(headers) + body)
      .filter((text) => text.includes("secret-of-test"));
    expect(secrets).toEqual([]);
  });

  it("gets a new key five minutes before the end, keeps the old one while none can be had, and deletes keys that ended", async () => {
    await using standIn = await FcStandIn.open();
    await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    const sandbox = await FcSandbox.create({ ...connection, timeoutMs: 7_200_000 });
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 54 * 60_000);
    await sandbox.getInfo();
    expect(standIn.control.createdKeys).toBe(1);
    vi.setSystemTime(Date.now() + 2 * 60_000);
    standIn.control.failures.push(403);
    await sandbox.getInfo();
    expect(standIn.control.createdKeys).toBe(1);
    await sandbox.getInfo();
    expect(standIn.control.createdKeys).toBe(2);
    expect(standIn.control.keys.size).toBe(2);
    vi.setSystemTime(Date.now() + 56 * 60_000);
    await sandbox.getInfo();
    expect(standIn.control.createdKeys).toBe(3);
    await vi.waitFor(() => expect(standIn.control.keys.size).toBe(2));
  });

  it("gets a new key for one that the service refuses early, and none when it refuses a new one", async () => {
    await using standIn = await FcStandIn.open();
    await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    const sandbox = await FcSandbox.create(connection);
    standIn.control.keys.clear();
    await expect(sandbox.getInfo()).rejects.toBeInstanceOf(AuthenticationError);
    expect(standIn.control.createdKeys).toBe(1);
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 6 * 60_000);
    expect((await sandbox.getInfo()).sandboxId).toBe(sandbox.sandboxId);
    expect(standIn.control.createdKeys).toBe(2);
  });

  it("counts the time of a key by the clock that shows more of it, so that one set back keeps no dead key", async () => {
    await using standIn = await FcStandIn.open();
    await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    const sandbox = await FcSandbox.create(connection);
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    vi.advanceTimersByTime(56 * 60_000);
    vi.setSystemTime(Date.now() - 24 * 3_600_000);
    await sandbox.getInfo();
    expect(standIn.control.createdKeys).toBe(2);
    vi.advanceTimersByTime(6 * 60_000);
    vi.setSystemTime(Date.now() - 24 * 3_600_000);
    standIn.control.keys.clear();
    expect((await sandbox.getInfo()).sandboxId).toBe(sandbox.sandboxId);
    expect(standIn.control.createdKeys).toBe(3);
  });

  it("is exchanged for all who wait: one that gives up ends only its own wait", async () => {
    await using standIn = await FcStandIn.open();
    const [started, released] = [openGate(), openGate()];
    const held: typeof fetch = async (input, init) => {
      if (String(input).includes("/api-keys") && init?.method === "POST") {
        started.open();
        await released.opened;
      }
      return standIn.fetch(input, init);
    };
    await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: held });
    const abort = new AbortController();
    const given = FcSandbox.create({ ...connection, signal: abort.signal });
    const patient = FcSandbox.create(connection);
    await started.opened;
    abort.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    released.open();
    expect((await patient).sandboxId).toMatch(/^sbx-/);
    expect(standIn.control.createdKeys).toBe(1);
    expect(standIn.requestsTo("api.")).toEqual(["POST /sandboxes"]);
  });

  it("gives no more keys once its connection is disposed of, and a key that is just being made is deleted too", async () => {
    await using standIn = await FcStandIn.open();
    const [started, released] = [openGate(), openGate()];
    const held: typeof fetch = async (input, init) => {
      if (String(input).includes("/api-keys") && init?.method === "POST") {
        started.open();
        await released.opened;
      }
      return standIn.fetch(input, init);
    };
    const connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: held });
    const early = FcSandbox.create(connection).catch((error: unknown) => error);
    await started.opened;
    const disposed = connection[Symbol.asyncDispose]();
    await expect(FcSandbox.create(connection)).rejects.toThrow(/disposed of .* make another one/);
    released.open();
    await disposed;
    await early;
    await expect(FcSandbox.create(connection)).rejects.toMatchObject({ reason: "failed_precondition" });
    await connection[Symbol.asyncDispose]();
    expect([standIn.control.createdKeys, standIn.control.keys.size]).toEqual([1, 0]);
  });

  it("that is refused rejects the call with the reason of the account's control plane", async () => {
    await using standIn = await FcStandIn.open();
    const accessKey = { ...ACCESS_KEY, accessKeySecret: "another" };
    await using connection = fcConnection({ region: REGION, accessKey, fetch: standIn.fetch });
    const error = await FcSandbox.create(connection).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ operation: "fc.createApiKey", message: expect.stringMatching(/signature does not match/) as string });
    expect(JSON.stringify(error) + String(error)).not.toContain("another");
  });

  it("of the environment counts where there is no API key, under either name", async () => {
    expect(() => fcConnection({ region: REGION })).toThrow(AuthenticationError);
    expect(() => fcControl()).toThrow(/ALIBABA_CLOUD_ACCESS_KEY_ID/);
    vi.stubEnv("ALICLOUD_ACCESS_KEY_ID", ACCESS_KEY.accessKeyId);
    expect(() => fcConnection({ region: REGION })).toThrow(AuthenticationError);
    vi.stubEnv("ALICLOUD_ACCESS_KEY_SECRET", ACCESS_KEY.accessKeySecret);
    vi.stubEnv("SANDBOX_REGION", "us-east-1");
    await using standIn = await FcStandIn.open();
    await using connection = fcConnection({ fetch: standIn.fetch });
    await FcSandbox.create(connection);
    expect(standIn.seen.map(({ host }) => host)).toEqual(["fcsandbox.us-east-1.aliyuncs.com", "api.us-east-1.e2b.fc.aliyuncs.com"]);
    vi.stubEnv("E2B_API_KEY", "e2b_1");
    expect(fcConnection().apiKey).toBe("e2b_1");
  });
});

describe("the connection", () => {
  it("derives its host names from region and family", () => {
    const options = { apiKey: "k" };
    expect(fcConnection(options)).toMatchObject({ apiUrl: "https://api.cn-hangzhou.e2b.fc.aliyuncs.com", service: "fc", encoding: "json" });
    expect(fcConnection({ ...options, region: "us-west-1", family: "flash" })).toMatchObject({
      domain: "us-west-1.sandbox.aliyuncs.com",
      apiUrl: "https://api.us-west-1.sandbox.aliyuncs.com",
    });
    expect(fcConnection({ ...options, privateLink: true }).domain).toBe("cn-hangzhou-vpc.e2b.fc.aliyuncs.com");
    expect(() => fcConnection({ ...options, privateLink: true, family: "flash" })).toThrow(/privateLink/);
    expect(() => fcConnection({ ...options, region: "https://x" })).toThrow(/region must be/);
  });

  it("follows the domain of the environment where no region is given", () => {
    vi.stubEnv("E2B_API_KEY", "e2b_1");
    vi.stubEnv("E2B_DOMAIN", "cn-shanghai.sandbox.aliyuncs.com");
    expect(fcConnection()).toMatchObject({ region: "cn-shanghai", domain: "cn-shanghai.sandbox.aliyuncs.com" });
    expect(fcConnection({ region: "cn-beijing" }).domain).toBe("cn-beijing.e2b.fc.aliyuncs.com");
  });

  it("follows URLs of the environment only where no region is given: no other place is told a token", async () => {
    await using standIn = await FcStandIn.open();
    vi.stubEnv("AGENT_SANDBOX_SANDBOX_URL", "http://elsewhere.example.org");
    vi.stubEnv("AGENT_SANDBOX_VOLUME_API_URL", "http://elsewhere.example.org");
    vi.stubEnv("AGENT_SANDBOX_API_URL", "http://elsewhere.example.org");
    vi.stubEnv("FCSANDBOX_ENDPOINT", "elsewhere.example.org");
    await using connection = fcConnection({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    expect(resolveConfig(connection)).toMatchObject({ sandboxUrl: undefined, volumeUrl: undefined });
    await using sandbox = await FcSandbox.create(connection);
    expect((await sandbox.commands.run("echo here")).stdout).toBe("here\n");
    expect(new Set(standIn.seen.map(({ host }) => host.replace(/^49983-[\w-]+\./, "port.")))).toEqual(
      new Set([`fcsandbox.${REGION}.aliyuncs.com`, `api.${connection.domain}`, `port.${connection.domain}`]),
    );
    expect(fcConnection({ apiKey: "k", family: "flash" }).sandboxUrl).toBeUndefined();
    vi.stubEnv("AGENT_SANDBOX_API_URL", "https://api.cn-shanghai.sandbox.aliyuncs.com");
    expect(fcConnection({ apiKey: "k" })).toMatchObject({ region: "cn-shanghai", sandboxUrl: "http://elsewhere.example.org" });
    expect(fcConnection({ apiKey: "k", region: "cn-shanghai", sandboxUrl: "http://own" }).sandboxUrl).toBe("http://own");
  });
});

describe("the account's control plane", () => {
  it("signs each repetition anew and tells the request that failed", async () => {
    await using standIn = await FcStandIn.open();
    const control = fcControl({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    standIn.control.failures.push(503);
    expect(await control.deleteApiKey("not there")).toBe(false);
    expect(standIn.seen).toHaveLength(2);
    standIn.control.failures.push(403);
    await expect(control.deleteApiKey("x")).rejects.toMatchObject({ reason: "permission_denied", operation: "fc.deleteApiKey" });
  });

  it("finds keys that processes left behind on all pages, and deletes those that expired", async () => {
    await using standIn = await FcStandIn.open();
    const control = fcControl({ region: REGION, accessKey: ACCESS_KEY, fetch: standIn.fetch });
    const past = "2026-01-01T00:00:00Z";
    for (let i = 0; i < 60; i += 1) standIn.control.keys.set(`ours-${i}`, { value: "v", name: `agent-sandbox-${i}`, expireTime: past });
    standIn.control.keys.set("mine", { value: "v", name: "mine", expireTime: past });
    const { apiKeyId } = await control.createApiKey({ name: "agent-sandbox-live", expiresAt: new Date(Date.now() + 60_000) });
    expect(await deleteExpiredKeys(control)).toBe(60);
    expect([...standIn.control.keys.keys()]).toEqual(["mine", apiKeyId]);
  });

  it("calls any other operation by its name", async () => {
    await using standIn = await FcStandIn.open();
    const control = fcControl({ region: REGION, accessKey: { ...ACCESS_KEY, securityToken: "sts" }, fetch: standIn.fetch });
    const call = { action: "ListTeams", method: "GET", path: "/pop/2026-05-09/teams", query: { nameLike: "a b*~中" } } as const;
    expect(await control.call(call)).toMatchObject({ teams: [{ teamID: "team-1" }] });
    expect(standIn.seen[0]?.headers["x-acs-security-token"]).toBe("sts");
  });
});
