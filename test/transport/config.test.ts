import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AuthenticationError, InvalidArgumentError } from "../../src/errors/error-classes.js";
import { parseConfigFile } from "../../src/shared/config-file-node.js";
import { resolveConfig } from "../../src/transport/config.js";

describe("settings", () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "config-"));
    for (const name of Object.keys(process.env)) if (/^(AGENT_SANDBOX|E2B|SANDBOX)_/.test(name)) vi.stubEnv(name, undefined);
    vi.stubEnv("XDG_CONFIG_HOME", home);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(home, { recursive: true });
  });

  it("with neither key nor URL mean the local platform", () => {
    expect(resolveConfig()).toMatchObject({ platform: "local", apiKey: undefined, requestTimeoutMs: 60_000, retries: 3, encoding: "auto" });
  });

  it("come from the option, then AGENT_SANDBOX_, E2B_ and SANDBOX_ variables, then the file", async () => {
    await mkdir(join(home, "agent-sandbox"));
    await writeFile(join(home, "agent-sandbox/config.toml"), '# mine\napi_key = "file" # note\n[other]\ndomain = "no"\n');
    expect(resolveConfig()).toMatchObject({ apiKey: "file", platform: "cloud", apiUrl: "https://api.e2b.app" });
    vi.stubEnv("SANDBOX_API_KEY", "predecessor");
    expect(resolveConfig().apiKey).toBe("predecessor");
    vi.stubEnv("E2B_API_KEY", "e2b");
    expect(resolveConfig().apiKey).toBe("e2b");
    vi.stubEnv("AGENT_SANDBOX_API_KEY", "  ");
    expect(resolveConfig().apiKey).toBe("e2b");
    vi.stubEnv("AGENT_SANDBOX_API_KEY", "ours");
    expect(resolveConfig().apiKey).toBe("ours");
    expect(resolveConfig({ apiKey: "option" }).apiKey).toBe("option");
    expect(resolveConfig({ apiKey: undefined }).apiKey).toBe("ours");
    vi.stubEnv("SANDBOX_API_BASE_URL", "http://127.0.0.1:1/");
    expect(resolveConfig().apiUrl).toBe("http://127.0.0.1:1");
    vi.stubEnv("E2B_DOMAIN", "example.org");
    expect(resolveConfig({ apiUrl: "https://other" })).toMatchObject({ domain: "example.org", apiUrl: "https://other" });
  });

  it("know the FC service by its host names, and its region where no domain is given", () => {
    expect(resolveConfig({ domain: "us-east-1.sandbox.aliyuncs.com" }).service).toBe("fc");
    expect(resolveConfig({ apiUrl: "https://api.cn-hangzhou-vpc.e2b.fc.aliyuncs.com" }).service).toBe("fc");
    expect(resolveConfig({ domain: "fc.aliyuncs.com.example.org" }).service).toBe("e2b");
    expect(resolveConfig({ apiUrl: "http://127.0.0.1:1", service: "fc" }).service).toBe("fc");
    expect(() => resolveConfig({ service: "x" as "fc" })).toThrow(/service/);
    vi.stubEnv("SANDBOX_REGION", "cn-beijing");
    expect(resolveConfig()).toMatchObject({ platform: "local", service: "e2b" });
    vi.stubEnv("SANDBOX_API_KEY", "k");
    expect(resolveConfig()).toMatchObject({ apiUrl: "https://api.cn-beijing.e2b.fc.aliyuncs.com", service: "fc" });
    vi.stubEnv("E2B_DOMAIN", "example.org");
    expect(resolveConfig()).toMatchObject({ apiUrl: "https://api.example.org", service: "e2b" });
  });

  it("can force one kind, and a forced cloud without a key says what is missing", () => {
    vi.stubEnv("E2B_API_KEY", "k");
    expect(resolveConfig({ platform: "local" }).platform).toBe("local");
    vi.stubEnv("E2B_API_KEY", undefined);
    expect(() => resolveConfig({ platform: "cloud" })).toThrow(AuthenticationError);
    expect(() => resolveConfig({ platform: "moon" as "cloud" })).toThrow(InvalidArgumentError);
  });

  it("are refused when malformed, naming the option and never a secret", () => {
    for (const wrong of [
      { apiUrl: "not a url" },
      { sandboxUrl: "ftp://x" },
      { requestTimeoutMs: -1 },
      { requestTimeoutMs: Number.NaN },
      { retries: 1.5 },
      { encoding: "xml" as "json" },
    ]) {
      expect(() => resolveConfig(wrong)).toThrow(InvalidArgumentError);
      expect(() => resolveConfig(wrong)).toThrow(Object.keys(wrong)[0]);
    }
    expect(() => resolveConfig({ proxy: "socks5://u:secret@h" })).toThrow(/^(?!.*secret)/);
  });

  it("are frozen", () => {
    expect(Object.isFrozen(resolveConfig())).toBe(true);
  });

  it("of the file may be quoted either way", () => {
    expect(parseConfigFile(`a = "x\\"y"\nb='z'\nc=1\nbad line\nd = [1]\n`)).toEqual({ a: 'x"y', b: "z", c: "1" });
  });
});
