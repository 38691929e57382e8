import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Sandbox, Secret, Template, Volume, waitForFile } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { type StartedPlatform, startTestPlatform } from "../support/test-platform.js";
import { type Collector, openCollector } from "../telemetry/support/collector.js";
import { recordTelemetry } from "../telemetry/support/recorded-telemetry.js";

/** Nobody else writes this text, so whoever logs it has logged a secret. */
const secret = (name: string) => `s3cret-${name}-${randomBytes(8).toString("hex")}`;

describeOnPlatform("logs and spans", () => {
  let collector: Collector;
  let platform: StartedPlatform;
  const headerToken = secret("collector");
  beforeAll(async () => {
    collector = await openCollector();
    platform = await startTestPlatform({
      AGENT_SANDBOX_LOG_LEVEL: "debug",
      AGENT_SANDBOX_POOL_SIZE: "1",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${headerToken}`,
    });
  });
  afterAll(async () => {
    await platform.stop();
    await collector[Symbol.asyncDispose]();
  });

  it("hold no key, token, secret, variable, content or signed URL, whatever is done and whatever fails", async (test) => {
    if (!platform.context.isAvailable) return test.skip(platform.context.reason);
    const { apiUrl, sandboxUrl, apiKey } = platform.context;
    const lines: string[] = [];
    const log = (message: string, facts?: unknown) => void lines.push(`${message} ${JSON.stringify(facts)}`);
    const recorded = recordTelemetry();
    const options = {
      ...{ apiUrl, sandboxUrl, apiKey },
      telemetry: recorded.telemetry,
      logger: { debug: log, info: log, warn: log, error: log },
    };
    const hidden = new Set([apiKey, headerToken]);
    const hide = (text: string | undefined): string => {
      expect(text).toBeTruthy();
      hidden.add(text as string); // the line above
      return text as string; // the same
    };

    // Credentials that are refused.
    await expect(Sandbox.create({ ...options, apiKey: hide(secret("key")) })).rejects.toThrow();
    await fetch(new URL(`/sandboxes?token=${hide(secret("query"))}`, apiUrl), { headers: { "x-api-key": hide(secret("raw-key")) } });
    await fetch(new URL(`/nowhere/${hide(secret("path"))}`, apiUrl));

    // Secrets and rules that use them.
    await Secret.create("log-test", hide(secret("stored")), options);
    await using sandbox = await Sandbox.create({
      ...options,
      envs: { TOKEN: hide(secret("sandbox-env")) },
      metadata: { owner: hide(secret("metadata")) },
      network: {
        allowPublicTraffic: false,
        allowOut: ["api.example.com"],
        denyOut: ["0.0.0.0/0"],
        rules: { "api.example.com": [{ transform: { headers: { "X-Key": hide(secret("rule")), "X-Other": Secret.fill("log-test") } } }] },
      },
    });
    hide(sandbox.trafficAccessToken);

    // Commands, their environment, input and output, and how they fail.
    const envs = { PASSWORD: hide(secret("command-env")) };
    await sandbox.commands.run(`echo ${hide(secret("command"))}; echo $PASSWORD >&2; exit 3`, { envs, reject: false });
    await expect(sandbox.commands.run("true", { cwd: `/${hide(secret("cwd"))}`, envs })).rejects.toThrow();
    await expect(sandbox.commands.run("true", { envs: { [`${hide(secret("bad-name"))}=`]: "x" } })).rejects.toThrow();
    await expect(sandbox.commands.run("true", { user: hide(secret("user")) })).rejects.toThrow();
    const reader = await sandbox.commands.start("cat > /dev/null", { stdin: true });
    await reader.sendStdin(hide(secret("stdin")));
    await reader.kill();

    // Files, also by signed URLs, right and wrong ones.
    const file = `/home/user/${hide(secret("file"))}`;
    await sandbox.files.write(file, hide(secret("content")));
    const url = new URL(await sandbox.downloadUrl(file));
    hide(url.searchParams.get("signature") ?? undefined);
    const byPath = new URL(`${url.pathname}${url.search}`, apiUrl);
    expect((await fetch(byPath)).status).toBe(200);
    const forged = hide(secret("signature"));
    byPath.searchParams.set("signature", forged);
    expect((await fetch(byPath)).status).toBeGreaterThanOrEqual(400);
    await expect(sandbox.files.read(`/home/user/${hide(secret("missing"))}`)).rejects.toThrow();

    // A terminal by ticket, and a port with the token of its traffic.
    const ticketUrl = new URL(await sandbox.pty.webSocketUrl({ cols: 80, rows: 24, envs: { INNER: hide(secret("pty-env")) } }));
    hide(ticketUrl.searchParams.get("ticket") ?? undefined);
    const { host } = ticketUrl;
    ticketUrl.hostname = "127.0.0.1";
    const page = new WebSocket(ticketUrl, { headers: { host } });
    await new Promise((resolve, reject) => page.once("message", resolve).once("error", reject));
    page.close();
    const guest = (path: string, token: string) =>
      fetch(new URL(path, sandboxUrl), {
        headers: { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "8080", "e2b-traffic-access-token": token },
      });
    await guest(`/${hide(secret("guest-path"))}?key=${hide(secret("guest-query"))}`, sandbox.trafficAccessToken ?? "");
    await guest("/", hide(secret("traffic-token")));

    // Builds that fail with what their commands say.
    const words = ["step", "start"].map((name) => hide(secret(name)));
    const failing = [
      Template().fromTemplate("base").runCmd(`echo ${words[0]}; exit 1`),
      Template().fromTemplate("base").setStartCmd(`echo ${words[1]}; exit 4`, waitForFile("/never")),
    ];
    for (const [index, template] of failing.entries()) {
      await expect(Template.build(template, `log-${randomBytes(4).toString("hex")}`, options)).rejects.toThrow(words[index]);
    }
    await platform.log.untilLogged("template.build_failed", 2);

    // Volumes, a pause, and the death of the sandbox in the middle of a command.
    const volume = await Volume.create(`log-${randomBytes(4).toString("hex")}`, options);
    await volume.writeFile(`/${hide(secret("volume-file"))}`, hide(secret("volume-content")));
    await Volume.destroy(volume.volumeId, options);
    await sandbox.pause();
    await Sandbox.connect(sandbox.sandboxId, options);
    const dying = sandbox.commands.run(`sleep 60 # ${hide(secret("dying"))}`, { envs, timeoutMs: 0 });
    dying.catch(() => {});
    await sandbox.kill();
    await expect(dying).rejects.toThrow();
    await Secret.destroy("log-test", options);

    await platform.log.untilLogged("sandbox.ended", 1);
    await collector.until(({ name }) => name === "DELETE /secrets/{secretRef}");
    const spans = JSON.stringify(recorded.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));
    const written = { platform: platform.log.whole(), client: lines.join("\n"), spans, exported: collector.bodies.join("\n") };
    // They are what they should be, so that finding nothing means something.
    expect(written.platform).toContain('"event":"request"');
    expect(written.client).toContain(sandbox.sandboxId);
    expect(written.spans).toContain(sandbox.sandboxId);
    expect(written.exported).toContain(sandbox.sandboxId);
    for (const [place, text] of Object.entries(written)) {
      for (const value of hidden) {
        const at = text.indexOf(value);
        expect(at < 0 ? "" : `${place}: ${text.slice(Math.max(0, at - 200), at + 60)}`).toBe("");
      }
      expect(text).not.toContain("s3cret-");
    }
    for (const line of written.platform.trim().split("\n"))
      expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), level: expect.any(String) });
  });
});
