import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toPrintable } from "../../src/cli/printable.js";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv, runAbx } from "../support/run-abx.js";
import { HAS_TMUX, openTmux } from "../support/tmux.js";

/** Ask the proxy of the sandbox, by SOCKS5, for hosts whose names a program chose. */
const ASK = `
import socket, sys
def ask(name, port):
    s = socket.create_connection(("127.0.0.1", 49981))
    s.sendall(b"\\x05\\x01\\x00"); s.recv(2)
    s.sendall(b"\\x05\\x01\\x00\\x03" + bytes([len(name)]) + name + port.to_bytes(2, "big"))
    s.recv(10); s.close()
`;

describeOnPlatform("abx logs --network", (platform) => {
  const { apiUrl, sandboxUrl, apiKey } = platform;
  const env = platformEnv(platform);
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 300_000, network: { allowOut: ["203.0.113.9"] } });
  });
  afterAll(() => sandbox.kill());

  const refuse = (host: string, count = 1) =>
    sandbox.commands.run(`for n in $(seq ${count}); do curl -s -o /dev/null 'http://${host}/a-path?token=secret'; done; true`);
  const python = (program: string) => sandbox.commands.run('python3 -c "$PROGRAM"', { envs: { PROGRAM: ASK + program }, timeoutMs: 0 });

  it("-f tells each decision once and as it comes, without paths, until the sandbox ends", async () => {
    await using own = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 120_000 });
    const run = (line: string) => own.commands.run(line, { reject: false });
    await run("curl -s http://169.254.169.254/before?token=secret");
    const child = spawn(process.execPath, [ABX, "logs", "-f", "--network", "--json", own.sandboxId], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    const entries = () =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const WAIT = { timeout: 60_000 };
    await expect.poll(() => entries().length, WAIT).toBe(1);
    expect(entries()[0]).toMatchObject({ host: "169.254.169.254", port: 80, decision: "denied", protocol: "http" });
    await run("for n in 1 2 3; do curl -s http://127.0.0.1.nip.invalid:81/x; curl -s http://10.0.0.1:82/; done");
    await expect.poll(() => entries().length, WAIT).toBe(7);
    expect(entries().filter(({ host, port }) => host === "10.0.0.1" && port === 82)).toHaveLength(3);
    expect(text).not.toMatch(/secret|before/);
    await own.kill();
    expect(await ended).toBe(0);
    expect(entries()).toHaveLength(7);
  });

  it("takes nothing that a sandbox writes for a command to the terminal", async () => {
    await python('ask(b"\\x1b[2Jwiped\\n.example", 443)');
    await python('ask(b"10.0.0.1", 443)');
    const { stdout } = await runAbx(["logs", "--network", sandbox.sandboxId], { env });
    expect(stdout).toContain("10.0.0.1:443");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toContain("wiped\n");
    expect(toPrintable("a\u001b[2Jb\r\n\u009bc\u202ed é数\u{1f600}")).toBe("a\\u001b[2Jb\\r\\n\\u009bc\\u202ed é数\u{1f600}");
  });

  it("a sandbox that asks without end fills no log: the newest thousand are kept", async () => {
    // Over one connection, which is the quickest way to ask often.
    await python(`
import http.client
proxy = http.client.HTTPConnection("127.0.0.1", 49981)
for n in range(1, 1101):
    proxy.request("GET", "http://10.0.0.7:%d/" % n)
    proxy.getresponse().read()
`);
    const entries = JSON.parse((await runAbx(["logs", "--network", "--limit", "1000", "--json", sandbox.sandboxId], { env })).stdout) as {
      port: number;
    }[];
    expect(entries).toHaveLength(1_000);
    expect(entries.map(({ port }) => port)).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 101));
    // The journal, which is a file, has none of them.
    expect((await runAbx(["logs", "--limit", "1000", sandbox.sandboxId], { env })).stdout).not.toContain("10.0.0.7");
  });

  it("an unknown sandbox has status 4, and a level of entries that have none status 2", async () => {
    expect(await runAbx(["logs", "-f", "--network", "inothing00000000000"], { env })).toMatchObject({ status: 4, stdout: "" });
    expect((await runAbx(["logs", "--network", "--level", "info", sandbox.sandboxId], { env })).status).toBe(2);
  });

  it.runIf(HAS_TMUX)("shows refusals in a terminal, and Ctrl-C ends it", async () => {
    const line = '$abx logs -f --network --limit 1 "$id"; echo "status=$?"';
    await using terminal = await openTmux({ ...env, abx: `${process.execPath} ${ABX}`, id: sandbox.sandboxId }, line);
    await refuse("10.9.8.7:9");
    await terminal.until(/denied +http +10\.9\.8\.7:9 {2}\S/);
    await terminal.keys("C-c");
    await terminal.until(/status=130/);
  });
});
