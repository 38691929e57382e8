import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { askLeave } from "../../src/cli/deploy/ask.js";
import { isProcessAlive } from "../../src/shared/process-lock-node.js";
import { FcStandIn } from "../fc/support/stand-in.js";
import { ACCESS_KEY } from "../fc/support/stand-in-control.js";
import { ABX, runAbx } from "../support/run-abx.js";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "abx-deploy-test-"));
  mkdirSync(join(directory, "project"));
  writeFileSync(join(directory, "project/Dockerfile"), "FROM scratch\nARG WHO\nCOPY hello.txt /hello.txt\n");
  writeFileSync(join(directory, "project/hello.txt"), "hello\n");
  const yaml = 'name: mine\ntags: [v1]\nenv: { GREETING: "a $HOME \\"b\\"" }\nresources: { cpu: 4, memory: 4096 }\nstart_cmd: run-it\n';
  writeFileSync(join(directory, "project/template.yaml"), yaml);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const deploy = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runAbx(["template", "deploy", "--path", join(directory, "project"), ...args], { env: { HOME: directory, ...env } });

describe("abx template deploy", () => {
  it("--dry-run prints every command and call with neither key nor engine, and no password", async () => {
    const acr = { ACR_REGISTRY: "registry.example.com", ACR_NAMESPACE: "team", ACR_USERNAME: "me", ACR_PASSWORD: "hidden" };
    const { status, stdout, stderr } = await deploy(["--dry-run", "--engine", "docker", "--region", "us-west-1"], acr);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const project = join(directory, "project");
    const image = "registry.example.com/team/mine:v1";
    const spec = {
      name: "mine",
      runtimeConfig: { cpu: 4, memorySize: 4096, sandboxConfig: { image, generation: 1, startCommand: "run-it" } },
    };
    expect(stdout.trimEnd().split("\n")).toEqual([
      "# the Dockerfile gets ENV for GREETING",
      `docker build --platform linux/amd64 --tag ${image} --file ${project}/Dockerfile ${project}`,
      "docker login --username me --password-stdin registry.example.com",
      `docker push ${image}`,
      `CreateTemplate at https://fcsandbox.us-west-1.aliyuncs.com, signed, with ${JSON.stringify(spec)}`,
      "GetTemplate, signed, until its state is ready or error",
    ]);
  });

  it("lets the service copy the image and put the daemon into it where that is asked for", async () => {
    const image = "registry.example.com/team/mine:v1";
    const target = ["--target-image", "registry.example.com/team/made:v1", "--envd-inject"];
    const { stdout } = await deploy(["--dry-run", "--json", "--image", image, "--acree-instance-id", "cri-1", ...target]);
    const { steps } = JSON.parse(stdout) as { steps: string[] };
    const spec = JSON.parse(/with (\{.*)$/m.exec(steps.find((step) => step.startsWith("CreateTemplate")) ?? "")?.[1] ?? "") as object;
    expect(spec).toMatchObject({
      runtimeConfig: { sandboxConfig: { image: "registry.example.com/team/made:v1", registryType: "acree", acrInstanceId: "cri-1" } },
      buildConfig: { copy: { enabled: true, image, registryType: "acree", acrInstanceId: "cri-1" }, envdInject: { enabled: true } },
    });
    expect((await deploy(["--dry-run", "--image", image, "--envd-inject"])).stderr).toMatch(/--target-image/);
    expect((await deploy(["--dry-run", "--image", image, "--target-image", image])).stderr).toMatch(/another image/);
  });

  it("without a terminal to ask on does nothing unless it was allowed", async () => {
    const { status, stderr } = await deploy(["--image", "registry.example.com/team/mine:v1"]);
    expect(status).toBe(2);
    expect(stderr).toMatch(/--yes .* or --dry-run/);
  });

  it("says what is missing or malformed before anything is built", async () => {
    expect(await deploy(["--yes"])).toMatchObject({ status: 2, stderr: expect.stringMatching(/--acr-registry/) as string });
    expect((await deploy(["--dry-run", "--image", "no-registry"])).stderr).toMatch(/registry\/namespace\/name:tag/);
    const half = await deploy(["--dry-run", "--image", "r.io/n/x:1", "--vpc-id", "vpc-1"]);
    expect(half.stderr).toMatch(/belong together/);
    const nobody = await deploy(["--dry-run", "--image", "r.io/n/x:1", "--acr-username", "me"]);
    expect(nobody.stderr).toMatch(/ACR_PASSWORD/);
    expect((await deploy(["--dry-run", "--image", "r.io/n/x:1", "--generation", "3"])).status).toBe(2);
  });
});

describe("leave", () => {
  it.each([
    ["y\n", true],
    ["YES\n", true],
    ["\n", false],
    ["yeah\n", false],
    ["", false],
  ])("is given by yes alone: %j", async (answer, expected) => {
    const input = new PassThrough();
    const output = new PassThrough();
    const asked = askLeave("Push?", new AbortController().signal, { input, output });
    input.end(answer);
    expect(await asked).toBe(expected);
    expect(String(output.read())).toContain("Push? [y/N]");
  });
});

describe("abx template deploy that is told to end", () => {
  let standIn: FcStandIn;
  beforeAll(async () => {
    standIn = await FcStandIn.open();
    standIn.control.states = ["building"];
  });
  afterAll(() => standIn[Symbol.asyncDispose]());

  /** An engine that does what the shell line says with its arguments, and what abx made of it when it was told to end. */
  const interrupted = async (engine: string, sign: RegExp, signal: NodeJS.Signals) => {
    const home = mkdtempSync(join(directory, "told-"));
    writeFileSync(join(home, "podman"), `#!/bin/sh\n[ "$1" = --version ] || { ${engine}; }\n`, { mode: 0o755 });
    const env = {
      PATH: `${home}:${process.env.PATH}`,
      HOME: home,
      TMPDIR: home,
      FCSANDBOX_ENDPOINT: standIn.url,
      ALIBABA_CLOUD_ACCESS_KEY_ID: ACCESS_KEY.accessKeyId,
      ALIBABA_CLOUD_ACCESS_KEY_SECRET: ACCESS_KEY.accessKeySecret,
    };
    const args = ["template", "deploy", "--path", join(directory, "project"), "--image", "r.example/n/x:1", "--yes"];
    const child = spawn(process.execPath, [ABX, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (!sign.test(stderr) && sign.test(stderr + text)) child.kill(signal);
      stderr += text;
    });
    const [status] = (await once(child, "close")) as [number | null];
    return { status, stderr, left: readdirSync(home).filter((name) => name !== "podman") };
  };

  it("ends the engine too, so that nothing is pushed later, and leaves no file with the variables", async () => {
    const run = await interrupted('echo "engine $$" >&2; exec sleep 600', /engine \d+/, "SIGTERM");
    expect(run).toMatchObject({ status: 143, left: [] });
    const pid = Number(/engine (\d+)/.exec(run.stderr)?.[1]);
    expect(isProcessAlive(pid)).toBe(false);
    expect(standIn.control.templates).toEqual([]);
  });

  it("says which template the service goes on with", async () => {
    const run = await interrupted("true", /is building/, "SIGINT");
    expect(run).toMatchObject({ status: 130, left: [] });
    expect(run.stderr).toContain(`goes on with ${standIn.control.templates[0]?.id}`);
  });
});

function whyNoRegistry(): string | undefined {
  for (const program of ["podman", "docker-registry"]) {
    try {
      execFileSync(program, ["--version"], { stdio: "ignore" });
    } catch {
      return `${program} is not installed`;
    }
  }
  return undefined;
}

const reason = whyNoRegistry();

// Where everything can be installed, a missing program is a failure.
describe.skipIf(reason !== undefined && !process.env.CI)(
  `abx template deploy to a registry${reason === undefined ? "" : ` (skipped: ${reason})`}`,
  () => {
    let address: string;
    let stop: () => Promise<void>;
    let standIn: FcStandIn;
    const image = () => `${address}/team/abx-deploy-${process.pid}:v1`;
    const account = () => ({
      FCSANDBOX_ENDPOINT: standIn.url,
      ALIBABA_CLOUD_ACCESS_KEY_ID: ACCESS_KEY.accessKeyId,
      ALIBABA_CLOUD_ACCESS_KEY_SECRET: ACCESS_KEY.accessKeySecret,
    });

    beforeAll(async () => {
      standIn = await FcStandIn.open();
      address = `127.0.0.1:${await freePort()}`;
      const storage = join(directory, "registry");
      const config = join(directory, "registry.yml");
      writeFileSync(
        config,
        `version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ${storage}}}\nhttp: {addr: "${address}"}\n`,
      );
      const child = spawn("docker-registry", ["serve", config], { stdio: "ignore" });
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
      stop = async () => {
        child.kill();
        await ended;
      };
      const isUp = async () => expect((await fetch(`http://${address}/v2/`)).status).toBe(200);
      await vi.waitFor(isUp, { timeout: 20_000 });
    });
    afterAll(async () => {
      execFileSync("podman", ["rmi", "--force", image()], { stdio: "ignore" });
      await stop();
      await standIn[Symbol.asyncDispose]();
    });

    it("builds, pushes, makes the template of the image and waits until it is ready", async () => {
      const args = ["--image", image(), "--engine", "podman", "--yes", "--json", "--pull-as", "registry-vpc.example.com/team/mine:v1"];
      const { status, stdout, stderr } = await deploy(args, account());
      expect(stderr).toMatch(/is building\n.*is ready\n$/s);
      expect(status).toBe(0);
      const [template] = standIn.control.templates;
      expect(JSON.parse(stdout)).toEqual({ templateId: template?.id, name: "mine", image: image() });
      expect(template?.spec.runtimeConfig.sandboxConfig.image).toBe("registry-vpc.example.com/team/mine:v1");
      const [, path = "", tag = ""] = /^[^/]+\/(.+):(.+)$/.exec(image()) ?? [];
      const type = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
      const manifest = await fetch(`http://${address}/v2/${path}/manifests/${tag}`, { headers: { accept: type } });
      const { config } = (await manifest.json()) as { config: { digest: string } };
      const blob = (await (await fetch(`http://${address}/v2/${path}/blobs/${config.digest}`)).json()) as { config: { Env: string[] } };
      expect(blob.config.Env).toContain('GREETING=a $HOME "b"');
    });

    it("ends with the reason of the service when the image cannot become a template", async () => {
      standIn.control.states = ["building", "error"];
      const { status, stderr } = await deploy(["--image", image(), "--yes"], account());
      expect(status).toBe(1);
      expect(stderr).toMatch(/the image cannot be pulled/);
    });

    it("makes no template when the push fails", async () => {
      const made = standIn.control.templates.length;
      const { status, stderr } = await deploy(["--image", `127.0.0.1:1/team/abx-deploy-${process.pid}:v1`, "--yes"], account());
      execFileSync("podman", ["rmi", "--force", `127.0.0.1:1/team/abx-deploy-${process.pid}:v1`], { stdio: "ignore" });
      expect(status).toBe(1);
      expect(stderr).toMatch(/podman push ended with/);
      expect(standIn.control.templates).toHaveLength(made);
    });
  },
);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
