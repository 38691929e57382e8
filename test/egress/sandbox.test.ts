import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestOptions, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ALL_TRAFFIC, Sandbox, type SandboxCreateOptions, Secret } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { listenOn } from "./support/egress-path.js";

const ADDRESS = "127.0.0.5";
// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of the contract
const MASK = "app.example:${PORT}";

describeOnPlatform("the network of a real sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const open: Sandbox[] = [];
  let server: Server;
  let port: number;
  let repository: string;

  beforeAll(async () => {
    repository = mkdtempSync(join(tmpdir(), "egress-git-"));
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", repository, "-c", "user.name=t", "-c", "user.email=t@example", ...args], { stdio: "ignore" });
    git("init", "-q", "-b", "main", ".");
    writeFileSync(join(repository, "readme"), "cloned");
    git("add", ".");
    git("commit", "-qm", "first");
    git("update-server-info");
    server = createServer((incoming, response) => {
      const path = normalize((incoming.url ?? "/").split("?")[0] ?? "/");
      const file = join(repository, path.replace(/^\/repo\.git/, "/.git"));
      if (path.startsWith("/repo.git/") && statSync(file, { throwIfNoEntry: false })?.isFile()) response.end(readFileSync(file));
      else response.writeHead(path === "/hello" ? 200 : 404).end(`hello from ${ADDRESS}`);
    });
    port = await listenOn(server, ADDRESS);
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(repository, { recursive: true, force: true });
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((sandbox) => sandbox.kill()));
  });

  async function create(options: SandboxCreateOptions = {}): Promise<Sandbox> {
    const sandbox = await Sandbox.create({ ...connection, timeoutMs: 120_000, ...options });
    open.push(sandbox);
    return sandbox;
  }

  const curl = async (sandbox: Sandbox, url: string) => {
    const { stdout, stderr } = await sandbox.commands.run(`curl -sS --max-time 10 -w ' %{http_code}' ${url}`).catch((error) => error);
    return `${stdout}${stderr}`;
  };

  it("lets programs out with no configuration, keeps the user's own variables, and refuses this machine", async () => {
    const sandbox = await create({ network: { allowOut: [`${ADDRESS}/32`] } });
    expect(await curl(sandbox, `http://${ADDRESS}:${port}/hello`)).toBe(`hello from ${ADDRESS} 200`);
    expect(await curl(sandbox, `http://127.0.0.6:${port}/hello`)).toMatch(/not allowed for this sandbox.*loopback/s);
    expect(await curl(sandbox, "http://169.254.169.254/latest/meta-data")).toMatch(/metadata[\s\S]* 403$/);
    expect(await curl(sandbox, new URL("/health", apiUrl).href.replace("127.0.0.1", "127.0.0.2"))).toMatch(/ 403$/);
    const own = await sandbox.commands.run('echo "$HTTPS_PROXY|$https_proxy|$http_proxy"', { envs: { HTTPS_PROXY: "http://mine:1" } });
    expect(own.stdout).toBe("http://mine:1||http://127.0.0.1:49981\n");
    const direct = await sandbox.commands.run(`curl -sS --noproxy '*' --max-time 5 http://${ADDRESS}:${port}/hello || echo direct failed`);
    expect(direct.stdout).toBe("direct failed\n");
    const log = await sandbox.network.log();
    expect(log[0]).toMatchObject({
      protocol: "http",
      host: ADDRESS,
      port,
      decision: "allowed",
      address: ADDRESS,
      reason: "allowOut has the address",
    });
    expect(log.some(({ decision, host }) => decision === "denied" && host === "169.254.169.254")).toBe(true);
  });

  it("clones with git, and fetches with python and node", async () => {
    const sandbox = await create({ network: { allowOut: [ADDRESS] } });
    const clone = await sandbox.commands.run(`git clone -q http://${ADDRESS}:${port}/repo.git copy && cat copy/readme`);
    expect(clone.stdout).toBe("cloned");
    const python = `import urllib.request as r; print(r.urlopen("http://${ADDRESS}:${port}/hello").read().decode())`;
    expect((await sandbox.commands.run(`python3 -c '${python}'`)).stdout).toBe(`hello from ${ADDRESS}\n`);
    const node = `fetch("http://${ADDRESS}:${port}/hello").then((r) => r.text()).then(console.log)`;
    expect((await sandbox.commands.run(`node -e '${node}'`)).stdout).toBe(`hello from ${ADDRESS}\n`);
  });

  it("installs with pip, npm and apt where this machine can", { timeout: 240_000 }, async ({ skip }) => {
    const isOnline = await fetch("https://pypi.org/simple/six/", { signal: AbortSignal.timeout(10_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (!isOnline) skip("this machine reaches no package registry");
    const sandbox = await create();
    const run = (command: string) => sandbox.commands.run(command, { timeoutMs: 120_000 });
    expect((await run("pip download -q --no-deps -d /tmp/six six && ls /tmp/six")).stdout).toMatch(/^six-/);
    expect((await run("npm view left-pad version")).stdout).toMatch(/^\d+\.\d+\.\d+/);
    expect((await run("sudo apt-get update 2>&1 | tail -1")).stdout).toContain("Reading package lists");
    expect((await run("sudo sh -c 'echo $https_proxy'")).stdout).toBe("http://127.0.0.1:49981\n");
    const hosts = new Set((await sandbox.network.log()).map(({ host }) => host));
    for (const host of ["pypi.org", "registry.npmjs.org"]) expect(hosts).toContain(host);
  });

  it("NET-14: closes altogether without internet access, opens by an update, and tells the truth", async () => {
    const sandbox = await create({ allowInternetAccess: false });
    expect((await sandbox.getInfo()).allowInternetAccess).toBe(false);
    expect((await sandbox.commands.run("env | grep -ci proxy || true")).stdout).toBe("0\n");
    expect(await curl(sandbox, `http://${ADDRESS}:${port}/hello`)).toMatch(/000|Could not|Failed/);

    await sandbox.updateNetwork({ allowInternetAccess: false, allowOut: [ADDRESS] });
    expect(await curl(sandbox, `http://${ADDRESS}:${port}/hello`)).toMatch(/ 200$/);
    expect((await sandbox.getInfo()).network).toEqual({ allowOut: [ADDRESS] });

    await sandbox.updateNetwork({ allowOut: [], denyOut: [ALL_TRAFFIC] });
    expect(await sandbox.getInfo()).toMatchObject({ allowInternetAccess: false, network: { allowOut: [], denyOut: [ALL_TRAFFIC] } });
    expect(await curl(sandbox, `http://${ADDRESS}:${port}/hello`)).not.toMatch(/ 200$/);

    await sandbox.updateNetwork({});
    expect((await sandbox.getInfo()).network).toEqual({});
    expect(await curl(sandbox, `http://${ADDRESS}:${port}/hello`)).toMatch(/ 403$/);
  });

  it("refuses rules that mean nothing, with the entry and the reason", async () => {
    await expect(create({ network: { allowOut: ["api.example"] } })).rejects.toThrow(/api\.example.*denyOut/);
    await expect(create({ network: { denyOut: ["api.example"] } })).rejects.toThrow(/no IP address/);
    await expect(create({ network: { allowOut: ["not a host"] } })).rejects.toThrow(/not a host/);
    await expect(create({ network: { rules: { "*": [] } } })).rejects.toThrow(/rules/);
    await expect(create({ network: { egressProxy: { address: "nowhere" } } })).rejects.toThrow(/host:port/);
    await expect(Sandbox.updateNetwork("nonexistingsandbox", {}, connection)).rejects.toThrow(/not found/);
  });

  it("stores secrets without ever giving a value back", async () => {
    const name = `Test_${randomBytes(4).toString("hex")}`;
    const made = await Secret.create(name, "the value", { ...connection, metadata: { a: "b" } });
    expect(made).toMatchObject({ name: name.toLowerCase(), version: 1, metadata: { a: "b" } });
    await expect(Secret.create(name.toUpperCase(), "x", connection)).rejects.toThrow(/exists already/);
    expect(await Secret.update(name, "another value", connection)).toMatchObject({ version: 2, metadata: { a: "b" } });
    expect(JSON.stringify(await Secret.list(connection).toArray())).not.toContain("value");
    expect(await Secret.exists(made.secretId, connection)).toBe(true);
    expect([await Secret.destroy(name, connection), await Secret.destroy(name, connection)]).toEqual([true, false]);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of the contract
    expect(Secret.fill("name")).toBe("${e2b.secrets.name}");
  });

  it("NET-10: carries pages, large bodies, events and WebSockets of a port, under the host that getHost gives", async () => {
    const sandbox = await create();
    await sandbox.files.write("server.mjs", GUEST_SERVER);
    await sandbox.commands.run("node server.mjs", { background: true });
    const host = sandbox.getHost(8000);
    expect(host).toMatch(/^8000-[a-z0-9]+\.localhost:\d+$/);
    await expect.poll(async () => (await ask(sandboxUrl, host, { path: "/" })).status, { timeout: 15_000 }).toBe(200);
    const echoed = await ask(sandboxUrl, host, { path: "/a%2Fb?x=1" });
    expect(JSON.parse(echoed.body.toString())).toMatchObject({ url: "/a%2Fb?x=1", host });

    const large = randomBytes(20 * 1024 * 1024);
    const answer = await ask(sandboxUrl, host, { path: "/echo", method: "POST" }, large);
    expect(createHash("sha256").update(answer.body).digest("hex")).toBe(createHash("sha256").update(large).digest("hex"));

    const events = await new Promise<string>((resolve, reject) => {
      const outgoing = request(sandboxUrl, { path: "/events", headers: { host } }, (response) => {
        response.once("data", (chunk: Buffer) => {
          resolve(chunk.toString());
          outgoing.destroy();
        });
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
    expect(events).toBe("data: one\n\n");

    const socket = new WebSocket(sandboxUrl.replace("http", "ws"), { headers: { host } });
    const reply = await new Promise<string>((resolve, reject) => {
      socket.once("unexpected-response", (_request, response) => reject(new Error(String(response.statusCode))));
      socket.once("error", reject);
      socket.once("upgrade", (response: IncomingMessage) => resolve(String(response.headers["sec-websocket-accept"])));
    });
    socket.terminate();
    expect(reply).not.toBe("undefined");
    expect((await ask(sandboxUrl, sandbox.getHost(8999), { path: "/" })).status).toBe(502);
  });

  it("keeps private ports behind their token, masks the host and reaches ports that speak TLS", async () => {
    const sandbox = await create({ network: { allowPublicTraffic: false, maskRequestHost: MASK, httpsPorts: [8443] } });
    await sandbox.files.write("server.mjs", GUEST_SERVER);
    await sandbox.commands.run("node server.mjs", { background: true });
    const token = sandbox.trafficAccessToken as string;
    const host = sandbox.getHost(8000);
    for (const headers of [{}, { "e2b-traffic-access-token": "wrong" }, { "e2b-traffic-access-token": sandbox.sandboxId }]) {
      const refused = await ask(sandboxUrl, host, { path: "/", headers });
      expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([403, { sandboxId: sandbox.sandboxId, code: 403 }]);
    }
    const withToken = { path: "/", headers: { "e2b-traffic-access-token": token } };
    await expect.poll(async () => (await ask(sandboxUrl, host, withToken)).status, { timeout: 15_000 }).toBe(200);
    const seen = JSON.parse((await ask(sandboxUrl, host, { path: "/", headers: { "e2b-traffic-access-token": token } })).body.toString());
    expect(seen).toMatchObject({ host: "app.example:8000", forwardedHost: host, token: null });
    await sandbox.commands.run(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=x 2>/dev/null && node server.mjs tls",
      {
        background: true,
      },
    );
    await expect
      .poll(
        async () => (await ask(sandboxUrl, sandbox.getHost(8443), { path: "/tls", headers: { "e2b-traffic-access-token": token } })).status,
        { timeout: 15_000 },
      )
      .toBe(200);
    expect((await Sandbox.connect(sandbox.sandboxId, connection)).trafficAccessToken).toBe(token);
    expect(await sandbox.files.exists("server.mjs")).toBe(true);
  });
});

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function ask(url: string, host: string, options: RequestOptions, body?: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, headers: { ...options.headers, host } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const GUEST_SERVER = `import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
const handle = (request, response) => {
  if (request.url === "/echo") return request.pipe(response);
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: one\\n\\n");
    return;
  }
  const { host, "x-forwarded-host": forwardedHost = null, "e2b-traffic-access-token": token = null } = request.headers;
  response.end(JSON.stringify({ url: request.url, host, forwardedHost, token }));
};
if (process.argv[2] === "tls") createTlsServer({ key: readFileSync("key.pem"), cert: readFileSync("cert.pem") }, handle).listen(8443);
else {
  const server = createServer(handle).listen(8000);
  server.on("upgrade", (request, socket) => {
    const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
    socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  });
}
`;
