import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Template, type TemplateBuildOptions } from "../../src/index.js";

interface Seen {
  readonly method: string;
  readonly path: string;
}

let server: Server;
let url: string;
let seen: Seen[];
let answer: (request: IncomingMessage, response: ServerResponse, path: string) => void;
const build = { templateID: "t", buildID: "b", public: false, aliases: [], names: [], tags: ["default"] };

beforeEach(async () => {
  seen = [];
  server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    seen.push({ method: request.method ?? "", path });
    request.resume();
    answer(request, response, path);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const options = (more: TemplateBuildOptions = {}): TemplateBuildOptions => ({ apiUrl: url, apiKey: "k", ...more });
const json = (response: ServerResponse, status: number, body?: unknown) => {
  response.writeHead(status, { "content-type": "application/json" }).end(body === undefined ? undefined : JSON.stringify(body));
};
const status = (state: string, more: object = {}) => ({ templateID: "t", buildID: "b", status: state, logs: [], logEntries: [], ...more });

function serve(statuses: (response: ServerResponse, poll: number) => void): void {
  let polls = 0;
  answer = (_request, response, path) => {
    if (path === "/v3/templates") json(response, 202, build);
    else if (path.endsWith("/status")) statuses(response, polls++);
    else response.writeHead(202, { "content-length": "0" }).end();
  };
}

describe("TPL-13: a build that is aborted", () => {
  it("before it starts asks nothing of the server", async () => {
    serve((response) => json(response, 200, status("building")));
    const reason = new Error("stop");
    await expect(Template.build(Template(), "x", options({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(seen).toEqual([]);
  });

  it("while it is followed ends with the reason at once and asks no more", async () => {
    const abort = new AbortController();
    const reason = new Error("stop");
    serve((response, poll) => {
      json(response, 200, status("building"));
      if (poll === 1) setImmediate(() => abort.abort(reason));
    });
    await expect(Template.build(Template(), "x", options({ signal: abort.signal }))).rejects.toBe(reason);
    const polls = seen.length;
    await new Promise((resolve) => setTimeout(resolve, 450));
    expect(seen.length).toBe(polls);
  });

  it("while its request is under way ends with the reason", async () => {
    const abort = new AbortController();
    const reason = new Error("stop");
    answer = () => abort.abort(reason);
    await expect(Template.build(Template(), "x", options({ signal: abort.signal }))).rejects.toBe(reason);
  });

  it("is not ended by one poll that fails", async () => {
    serve((response, poll) => {
      if (poll === 0) response.destroy();
      else if (poll === 1) json(response, 503, { code: 503, message: "busy" });
      else json(response, 200, status("ready"));
    });
    await expect(Template.build(Template(), "x", options({ retries: 0 }))).resolves.toMatchObject({ templateId: "t", buildId: "b" });
  });
});

describe("TPL-14: credentials of a registry", () => {
  const secret = "s3cr3t-value";
  it.each([
    ["a name alone", () => Template().fromImage("r.example/x", { username: "me" })],
    ["a password alone", () => Template().fromImage("r.example/x", { password: secret })],
    ["two empty ones", () => Template().fromImage("r.example/x", { username: "", password: "" })],
    ["undefined ones", () => Template().fromImage("r.example/x", { username: undefined, password: undefined })],
    ["half of those of AWS", () => Template().fromAWSRegistry("x", { accessKeyId: "a", secretAccessKey: secret, region: "" })],
    ["none of Google", () => Template().fromGCPRegistry("x", { serviceAccountJSON: "" })],
  ])("%s are refused, without being repeated", (_title, begin) => {
    expect(begin).toThrow(
      expect.objectContaining({ name: "InvalidArgumentError", message: expect.not.stringContaining(secret) as string }),
    );
  });

  it("go to the server and into no error and no log", async () => {
    answer = (_request, response, path) => {
      if (path === "/v3/templates") json(response, 202, build);
      else json(response, 400, { code: 400, message: "no" });
    };
    const lines: string[] = [];
    const template = Template().fromImage("r.example/x", { username: "me", password: secret });
    const failure = await Template.build(template, "x", options({ onBuildLogs: (entry) => lines.push(String(entry)) })).catch(
      (error: Error) => error,
    );
    expect(`${String(failure)} ${(failure as Error).stack} ${lines.join()}`).not.toContain(secret);
    expect(await Template.toJSON(template)).toContain(secret);
  });

  it("absent variables are left out", async () => {
    const wire = JSON.parse(await Template.toJSON(Template().setEnvs({ A: undefined, B: "1" }).setEnvs({ C: undefined }))) as {
      steps: object[];
    };
    expect(wire.steps).toEqual([{ type: "ENV", args: ["B", "1"], force: false }]);
  });
});

describe("a template", () => {
  it("exists where its name is somebody else's, and does not where it is unknown", async () => {
    answer = (_request, response, path) => {
      if (path.endsWith("/theirs")) json(response, 403, { code: 403, message: "theirs" });
      else if (path.endsWith("team%2Fmine%3Av1")) json(response, 200, { templateID: "t", public: false });
      else json(response, 404, { code: 404, message: "free" });
    };
    expect(await Template.exists("theirs", options())).toBe(true);
    expect(await Template.exists("team/mine:v1", options())).toBe(true);
    expect(await Template.exists("free", options())).toBe(false);
  });

  it("that cannot be built leads to the call that failed, with the whole log before", async () => {
    const entry = (message: string) => ({ timestamp: "2026-01-01T00:00:00Z", level: "info", message });
    serve((response, poll) =>
      json(response, 200, status("error", { logEntries: poll === 0 ? [entry("last words")] : [], reason: { message: "no", step: "2" } })),
    );
    const lines: string[] = [];
    const template = Template().runCmd("one").runCmd("two");
    const failure = await Template.build(template, "x", options({ onBuildLogs: ({ message }) => lines.push(message) })).catch(
      (error: Error) => error,
    );
    expect(failure).toMatchObject({ name: "BuildError", step: "2", message: expect.stringContaining("(step 2): no") as string });
    expect((failure as Error).stack).toContain("template-client.test.ts");
    expect(lines).toEqual(expect.arrayContaining(["last words", "Build finished"]));
  });

  it("is written as a Dockerfile that reads back to the same steps", async () => {
    const template = Template()
      .fromImage("debian:12")
      .setUser("root")
      .setWorkdir("/")
      .runCmd("a && b")
      .copy("x y", "/d", { user: "u", mode: 0o644 })
      .setEnvs({ A: "b c" });
    const again = Template().fromDockerfile(Template.toDockerfile(template));
    const steps = async (of: typeof template) =>
      (JSON.parse(await Template.toJSON(of, false)) as { steps: { type: string; args: string[] }[] }).steps;
    expect((await steps(again)).slice(2, 7)).toEqual(await steps(template));
    expect(() => Template.toDockerfile(Template().fromTemplate("base"))).toThrow(expect.objectContaining({ name: "TemplateError" }));
  });

  it.each([
    ["a source outside", () => Template().copy("../x", "y"), "TemplateError"],
    ["an absolute source", () => Template().copy("/x", "y"), "TemplateError"],
    ["servers without the gateway", () => Template().addMcpServer("x"), "TemplateError"],
    ["a mode that is none", () => Template().makeDir("x", { mode: 0o17777 }), "InvalidArgumentError"],
    ["no command", () => Template().runCmd(" "), "InvalidArgumentError"],
    ["no packages", () => Template().aptInstall([]), "InvalidArgumentError"],
  ])("with %s is refused where it is written", (_title, begin, name) => {
    expect(begin).toThrow(expect.objectContaining({ name }));
  });

  it("writes commands whose words are quoted", async () => {
    const template = Template()
      .remove("a b", { recursive: true, force: true })
      .rename("a", "b", { user: "root" })
      .makeDir(["x", "y"], { mode: 0o755 })
      .makeSymlink("a", "b", { force: true })
      .pipInstall("numpy")
      .pipInstall(["a"], { g: false })
      .npmInstall("x", { g: true })
      .bunInstall()
      .aptInstall(["curl", "jq"], { noInstallRecommends: true })
      .gitClone("https://example.com/x.git", "d", { branch: "b", depth: 1 })
      .skipCache()
      .runCmd(["a", "b"]);
    const wire = JSON.parse(await Template.toJSON(template)) as { steps: { args: string[]; force: boolean }[] };
    expect(wire.steps.map(({ args }) => args)).toEqual([
      ["rm -r -f -- 'a b'"],
      ["mv -- a b", "root"],
      ["mkdir -p -m 0755 -- x y"],
      ["ln -s -f -- a b"],
      ["PIP_BREAK_SYSTEM_PACKAGES=1 pip install numpy", "root"],
      ["PIP_BREAK_SYSTEM_PACKAGES=1 pip install --user a"],
      ["npm install -g x", "root"],
      ["bun install"],
      [expect.stringContaining("apt-get install -y --no-install-recommends curl jq") as string, "root"],
      ["git clone --branch b --single-branch --depth 1 -- https://example.com/x.git d"],
      ["a && b"],
    ]);
    expect(wire.steps.map(({ force }) => force)).toEqual([...Array<boolean>(10).fill(false), true]);
  });
});
