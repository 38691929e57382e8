import { expect, it } from "vitest";
import * as e2b from "../../../src/compat/e2b/index.js";
import { describeOnPlatform } from "../../support/platform.js";

const { E2B, Git, Sandbox, Secret, Template, Volume } = e2b;

it("the default export is Sandbox", () => {
  expect(e2b.default).toBe(Sandbox);
});

it("what cannot work is refused before any request, and what is ignored is accepted", async () => {
  const nowhere = { apiUrl: "http://127.0.0.1:9", apiKey: "k", retries: 0 };
  await expect(Sandbox.create({ ...nowhere, debug: true })).rejects.toMatchObject({ reason: "unimplemented", message: /abx serve/ });
  const iam = { tokens: { cloud: { audience: "a", tokenType: "JWT-SVID" } } };
  await expect(Sandbox.create({ ...nowhere, iam })).rejects.toMatchObject({ reason: "unimplemented" });
  const rules = {
    "a.example": [{ transform: ({ iam: { tokens } }: e2b.SandboxNetworkTransformContext) => ({ headers: { A: `${tokens.cloud}` } }) }],
  };
  await expect(Sandbox.create({ ...nowhere, network: { rules } })).rejects.toMatchObject({ message: /iam\.tokens\.cloud/ });
  expect(() => Secret.iamToken({ audience: "a", tokenType: "t" })).toThrow(/workload tokens/);
  const accepted = Sandbox.create({ ...nowhere, debug: false, secure: false, validateApiKey: true, iam: { tokens: {} } });
  await expect(accepted).rejects.toMatchObject({ name: "ConnectionError" });
});

it("errors of volumes and secrets are of their family, and what all calls share keeps its class", async () => {
  const answer = (status: number) => ({
    apiKey: "k",
    apiUrl: "http://a.example",
    retries: 0,
    fetch: async () => Response.json({}, { status }),
  });
  await expect(Volume.connect("id", answer(404))).rejects.toBeInstanceOf(e2b.VolumeNotFoundError);
  await expect(Volume.create("taken", answer(400))).rejects.toMatchObject({
    name: "VolumeError",
    reason: "invalid_argument",
    statusCode: 400,
  });
  await expect(Secret.create("taken", "v", answer(400))).rejects.toBeInstanceOf(e2b.SecretError);
  await expect(Volume.list(answer(500))).rejects.toBeInstanceOf(e2b.VolumeError);
  await expect(Secret.getInfo("id", answer(404))).rejects.toBeInstanceOf(e2b.SecretNotFoundError);
  await expect(Secret.list(answer(500)).nextItems()).rejects.toBeInstanceOf(e2b.SecretError);
  await expect(Secret.create("a", "b", answer(401))).rejects.toBeInstanceOf(e2b.AuthenticationError);
  expect(await Secret.exists("id", answer(404))).toBe(false);
});

describeOnPlatform("the entry for e2b programs", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options = { apiUrl, sandboxUrl, apiKey };

  it("TYP-07: derived classes have their own template and make their own instances", async () => {
    class Machine extends Sandbox {
      static override readonly defaultTemplate: string = "there-is-none";
      readonly label = "mine";
    }
    await expect(Machine.create(options)).rejects.toMatchObject({ reason: "template_not_found", message: /there-is-none/ });
    await using machine = await Machine.create("base", options);
    expect(machine.label).toBe("mine");
    expect(machine).toBeInstanceOf(Sandbox);
    expect(machine.git).toBeInstanceOf(Git);
    expect((await Machine.connect(machine.sandboxId, options)).label).toBe("mine");
    const { connect } = Sandbox;
    expect((await connect(machine.sandboxId, options)).git).toBeInstanceOf(Git);
  });

  it("two clients are bound to their options, and a call's option wins", async () => {
    const good = new E2B(options);
    const bad = new E2B({ ...options, apiKey: "wrong" });
    await using sandbox = await good.Sandbox.create({ timeoutMs: 60_000 });
    expect((await good.Sandbox.getInfo(sandbox.sandboxId)).sandboxId).toBe(sandbox.sandboxId);
    await expect(bad.Sandbox.getInfo(sandbox.sandboxId)).rejects.toBeInstanceOf(e2b.AuthenticationError);
    expect((await bad.Sandbox.getInfo(sandbox.sandboxId, { apiKey })).state).toBe("running");
    expect(await good.Template.exists("base")).toBe(true);
    await expect(bad.Template.getTags("base")).rejects.toBeInstanceOf(e2b.AuthenticationError);
    await expect(bad.Volume.list()).rejects.toBeInstanceOf(e2b.AuthenticationError);
    expect(Template.build).not.toBe(good.Template.build);
  });

  it("functions in place of lists are told the rules", async () => {
    const network: e2b.SandboxNetworkOpts = {
      rules: new Map([["a.example.org", [{ transform: { headers: { A: "b" } } }]]]),
      allowOut: ({ rules }) => [...rules.keys()],
      denyOut: ({ allTraffic }) => [allTraffic],
    };
    await using sandbox = await Sandbox.create({ ...options, network });
    const info = await sandbox.getInfo();
    expect(info.network).toMatchObject({ allowOut: ["a.example.org"], denyOut: ["0.0.0.0/0"] });
  });

  it("git gets credentials by its environment alone, and a refusal is a GitAuthError", async () => {
    await using sandbox = await Sandbox.create(options);
    const server = `import base64, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, base64.b64decode(self.headers.get("Authorization", "Basic ").split()[1] if " " in self.headers.get("Authorization", "") else "").decode(), flush=True)
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic realm=test")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 8123), Handler).serve_forever()`;
    await sandbox.files.write("server.py", server);
    let log = "";
    const onStdout = (text: string) => {
      log += text;
    };
    await sandbox.commands.run("python3 server.py", { background: true, timeoutMs: 0, onStdout });
    await sandbox.commands.run("until (exec 3<>/dev/tcp/127.0.0.1/8123) 2>/dev/null; do sleep 0.05; done");
    const address = "http://127.0.0.1:8123/private.git";
    const clone = sandbox.git.clone(address, { username: "ada", password: "s3cret 'quoted'", envs: { no_proxy: "127.0.0.1" } });
    const error = await clone.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(e2b.GitAuthError);
    await expect.poll(() => log).toContain("ada:s3cret 'quoted'");
    expect(String((error as Error).message)).not.toContain("s3cret");
    await expect(sandbox.git.clone(address, { password: "alone" })).rejects.toMatchObject({ reason: "invalid_argument" });
  });

  it("a gateway that does not start ends the sandbox", async () => {
    const creating = Sandbox.create("base", { ...options, mcp: { exa: { apiKey: "k" } }, metadata: { test: "mcp-gateway" } });
    await expect(creating).rejects.toThrow(/^Failed to start MCP gateway/);
    expect(await Sandbox.list({ ...options, query: { metadata: { test: "mcp-gateway" } } }).nextItems()).toEqual([]);
  });
});
