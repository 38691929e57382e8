import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { join } from "node:path";
import { connect as connectTls, createSecureContext } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateAuthority } from "../../src/control/egress/certificate-authority.js";
import type { NetworkConfig } from "../../src/control/egress/network-config.js";
import { type EgressPath, listenOn, openEgressPath, openSocket, readAll } from "./support/egress-path.js";

const run = promisify(execFile);
const ADDRESS = "127.0.0.9";
const outside = new CertificateAuthority(Buffer.alloc(32, 1), "outside");
const secrets = new Map([["token", "s3cr3t value"]]);
const network: NetworkConfig = {
  allowOut: [ADDRESS],
  rules: {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of the contract
    "api.example": [{ transform: { headers: { Authorization: "Bearer ${e2b.secrets.token}", "X-Plain": "yes" } } }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above
    "broken.example": [{ transform: { headers: { "X-Missing": "${e2b.secrets.nobody}" } } }],
  },
};

/** Only root may listen on the port of TLS. */
describe.runIf(process.getuid?.() === 0)("header rules", () => {
  let path: EgressPath;
  const server = createHttpsServer(
    { SNICallback: (name, give) => give(null, outside.contextFor(name)), key: undefined, cert: undefined },
    (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ headers: request.headers, url: request.url }));
    },
  );

  beforeAll(async () => {
    await listenOn(server, ADDRESS, 443);
    path = await openEgressPath(
      { allowInternetAccess: undefined, network },
      { resolve: async () => [ADDRESS], readSecret: (name) => secrets.get(name), trustedAuthorities: [outside.certificatePem] },
    );
  });

  afterAll(async () => {
    await path.stop();
    server.closeAllConnections();
    server.close();
  });

  async function curl(...args: string[]): Promise<string> {
    const { stdout } = await run("curl", ["-sS", "--max-time", "10", "--proxy", `http://127.0.0.1:${path.httpPort}`, ...args]);
    return stdout;
  }

  const trusted = () => join(path.root, "run/agent-sandbox/certificates.pem");

  it("adds the secret for its host only, and the guest's own header of that name is gone", async () => {
    const answer = JSON.parse(await curl("--cacert", trusted(), "-H", "authorization: mine", "-H", "X-Own: 1", "https://api.example/a?b"));
    expect(answer).toMatchObject({ url: "/a?b", headers: { authorization: "Bearer s3cr3t value", "x-plain": "yes", "x-own": "1" } });
  });

  it("passes hosts without a rule on unseen, with their own certificate", async () => {
    await expect(curl("--cacert", trusted(), "https://other.example/")).rejects.toThrow(/certificate|SSL/i);
    const file = join(path.root, "outside.pem");
    writeFileSync(file, outside.certificatePem);
    expect(JSON.parse(await curl("--cacert", file, "https://other.example/")).headers.authorization).toBeUndefined();
  });

  it("never logs a value, and logs each request", async () => {
    const log = JSON.stringify(path.service.accessLog("itest", 100));
    expect(log).not.toContain("s3cr3t");
    expect(path.service.accessLog("itest", 100)).toContainEqual(
      expect.objectContaining({ protocol: "https", host: "api.example", method: "GET", status: 200, decision: "allowed" }),
    );
  });

  it("refuses a Host header that names another host than the connection", async () => {
    const answer = await curl("--cacert", trusted(), "-H", "Host: attacker.example", "-w", "%{http_code}", "https://api.example/");
    expect(answer).toMatch(/421$/);
    expect(answer).not.toContain("s3cr3t");
  });

  it.each([
    ["another server name", "attacker.example"],
    ["no server name", ""],
  ])("refuses TLS with %s", async (_title, servername) => {
    const socket = await openSocket(path.httpPort);
    socket.write("CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    const outcome = await new Promise<string>((resolve) => {
      const secure = connectTls({ socket, ...(servername === "" ? {} : { servername }), rejectUnauthorized: false }, () => {
        secure.write("GET / HTTP/1.1\r\nHost: api.example\r\n\r\n");
        secure.once("data", (chunk: Buffer) => resolve(chunk.toString()));
      });
      secure.once("error", () => resolve("refused"));
      for (const event of ["end", "close"]) secure.once(event, () => resolve("refused"));
    });
    expect(outcome).toBe("refused");
  });

  it("refuses what is no TLS on a connection with a rule", async () => {
    const socket = await openSocket(path.httpPort);
    const answer = readAll(socket);
    socket.write("CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\nGET / HTTP/1.1\r\nHost: api.example\r\n\r\n");
    expect(await answer).not.toContain("s3cr3t");
  });

  it("says which secret is missing", async () => {
    expect(await curl("--cacert", trusted(), "https://broken.example/")).toMatch(/the secret "nobody" .* does not exist/);
  });

  it("makes certificates that strict checkers accept", async () => {
    const authority = new CertificateAuthority(Buffer.alloc(32, 9), "istrict");
    expect(new CertificateAuthority(Buffer.alloc(32, 9), "istrict").certificatePem).not.toBe("");
    expect(() => createSecureContext({ ca: authority.certificatePem })).not.toThrow();
    const bundle = readFileSync(trusted(), "utf8");
    expect(bundle).toContain("BEGIN CERTIFICATE");
    const script = `import ssl,socket
context = ssl.create_default_context(cafile=${JSON.stringify(trusted())})
context.verify_flags |= getattr(ssl, "VERIFY_X509_STRICT", 0)
raw = socket.create_connection(("127.0.0.1", ${path.httpPort}))
raw.sendall(b"CONNECT api.example:443 HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n")
raw.recv(100)
secure = context.wrap_socket(raw, server_hostname="api.example")
secure.sendall(b"GET / HTTP/1.1\\r\\nHost: api.example\\r\\nConnection: close\\r\\n\\r\\n")
print(secure.recv(12))`;
    const { stdout } = await run("python3", ["-c", script]);
    expect(stdout).toContain("HTTP/1.1 200");
  });
});
