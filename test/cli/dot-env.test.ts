import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runAbx } from "../support/run-abx.js";

describe("abx in a directory with a .env", () => {
  let home: string;
  let server: Server;
  let url: string;
  /** Keys that were told to the server. */
  let told: unknown[];
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), "abx-env-"));
    told = [];
    server = createServer((request, response) => {
      told.push(request.headers["x-api-key"]);
      response.setHeader("content-type", "application/json").end("[]");
    });
    // A proxy is asked for a tunnel.
    server.on("connect", (request, socket) => {
      told.push(request.url);
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(home, { recursive: true, force: true });
  });
  const abx = async (dotEnv: readonly string[], env: Record<string, string> = {}, args: readonly string[] = ["list"]) => {
    await writeFile(path.join(home, ".env"), dotEnv.join("\n"));
    return runAbx(args, { cwd: home, env: { XDG_CONFIG_HOME: home, HOME: home, XDG_RUNTIME_DIR: home, ...env } });
  };

  it("uses an address with a key of the same file, and a key of it with an address of the environment", async () => {
    expect(await abx([`E2B_API_URL=${url}`, "E2B_API_KEY=theirs"])).toMatchObject({ status: 0, stderr: "" });
    expect(await abx(["E2B_API_KEY=theirs"], { E2B_API_URL: url })).toMatchObject({ status: 0, stderr: "" });
    expect(await abx([`E2B_API_URL=http://127.0.0.1:1`], { E2B_API_URL: url, E2B_API_KEY: "mine" })).toMatchObject({
      status: 0,
      stderr: "",
    });
    expect(told).toEqual(["theirs", "theirs", "mine"]);
  });

  it("tells no address of the file a key of the environment, under whatever name", async () => {
    for (const key of ["AGENT_SANDBOX_API_KEY", "E2B_API_KEY", "SANDBOX_API_KEY"]) {
      for (const address of ["AGENT_SANDBOX_API_URL", "E2B_API_URL", "SANDBOX_API_BASE_URL"]) {
        const run = await abx([`${address}=${url}`], { [key]: "mine" });
        expect(run).toMatchObject({ status: 1, stdout: "" });
        expect(run.stderr).toContain(`${address} is of ${path.join(home, ".env")}`);
        expect(run.stderr).toContain(`${key} is of the environment`);
        expect(run.stderr).toContain(`set ${address} in the environment if you trust it`);
        expect(run.stderr).not.toContain("mine");
      }
    }
    // The key in the file does not count where a stronger name has one.
    expect((await abx([`E2B_API_URL=${url}`, "E2B_API_KEY=theirs"], { AGENT_SANDBOX_API_KEY: "mine" })).status).toBe(1);
    expect((await abx([`E2B_API_URL=${url}`, "E2B_API_KEY=theirs"], { E2B_API_KEY: "mine" })).status).toBe(1);
    expect(told).toEqual([]);
  });

  it("tells no address of the file the key of the configuration file, nor where none is set", async () => {
    expect((await abx([`E2B_API_URL=${url}`])).stderr).toContain("no key is set");
    await mkdir(path.join(home, "agent-sandbox"));
    await writeFile(path.join(home, "agent-sandbox/config.toml"), 'api_key = "mine"\n');
    for (const lines of [[], ["E2B_API_KEY="], ['AGENT_SANDBOX_API_KEY=" "']]) {
      const run = await abx([`AGENT_SANDBOX_API_URL=${url}`, ...lines]);
      expect(run.status).toBe(1);
      expect(run.stderr).toContain(`the key is api_key of ${path.join(home, "agent-sandbox/config.toml")}`);
    }
    expect(told).toEqual([]);
  });

  it("holds domains, sandbox and volume addresses and proxies for addresses, the last also for the platform of this machine", async () => {
    const mine = { E2B_API_KEY: "mine", E2B_API_URL: url };
    const hosts = ["AGENT_SANDBOX_DOMAIN", "E2B_DOMAIN", "SANDBOX_DOMAIN"].map((name) => `${name}=example.org`);
    const urls = [
      "AGENT_SANDBOX_SANDBOX_URL",
      "E2B_SANDBOX_URL",
      "AGENT_SANDBOX_VOLUME_API_URL",
      "E2B_VOLUME_API_URL",
      "AGENT_SANDBOX_PROXY",
    ];
    for (const line of [...hosts, ...urls.map((name) => `${name}=${url}`)]) {
      const run = await abx([line], mine);
      expect([line, run.status, run.stderr]).toEqual([line, 1, expect.stringContaining(`${line.split("=")[0]} is of `)]);
    }
    const local = await abx([`AGENT_SANDBOX_PROXY=${url}`, "AGENT_SANDBOX_PLATFORM=local", "E2B_API_KEY=theirs"]);
    expect(local.stderr).toContain("the key is that of the platform of this machine");
    expect(told).toEqual([]);
  });

  it("lets a region of the file name one of the service, and needs no key for what stays on this machine", async () => {
    const run = await abx(["AGENT_SANDBOX_REGION=cn-hangzhou"], { E2B_API_KEY: "mine", AGENT_SANDBOX_PROXY: url });
    expect(run.stderr).not.toContain(".env");
    expect(told).toContain("api.cn-hangzhou.e2b.fc.aliyuncs.com:443");
    for (const args of [
      ["config", "list"],
      ["system", "version"],
      ["completion", "bash"],
    ])
      expect((await abx([`E2B_API_URL=${url}`], { E2B_API_KEY: "mine" }, args)).status).toBe(0);
  });

  it("tells no registry and no control plane of the file a password or access key of the environment", async () => {
    const deploy = ["template", "deploy", "demo"];
    const password = { ACR_USERNAME: "me", ACR_PASSWORD: "mine" };
    const registry = await abx(["ACR_REGISTRY=registry.example.org", "ACR_NAMESPACE=x"], password, deploy);
    expect(registry.stderr).toContain("ACR_REGISTRY is of ");
    const key = { ALICLOUD_ACCESS_KEY_ID: "id", ALICLOUD_ACCESS_KEY_SECRET: "mine" };
    // Half a pair is no key.
    const control = await abx([`FCSANDBOX_ENDPOINT=${url}`, "ALIBABA_CLOUD_ACCESS_KEY_SECRET=theirs"], key, deploy);
    expect(control.stderr).toContain("ALICLOUD_ACCESS_KEY_ID is of the environment");
    expect((await abx(["ACR_REGISTRY=registry.example.org"], {}, deploy)).stderr).not.toContain("is of ");
    expect(told).toEqual([]);
  });
});
