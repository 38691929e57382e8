import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}

let control: TestControl;
beforeEach(async () => {
  control = await startTestControl();
});
afterEach(() => control.stop());

const HASH = createHash("sha256").update("x").digest("hex");

async function request(body: object = { name: "mine" }): Promise<Requested> {
  const response = await control.api("POST", "/v3/templates", body);
  expect(response.status).toBe(202);
  return (await response.json()) as Requested;
}
const errorOf = async (response: Response) => ({
  status: response.status,
  message: ((await response.json()) as { message: string }).message,
});

describe("requests of builds", () => {
  it("give ids and names, and a name leads to one template, also before its first build", async () => {
    const first = await request({ name: "Mine:v1", tags: ["a"] });
    expect(first).toMatchObject({ public: false, names: ["mine"], aliases: ["mine"], tags: ["v1", "a"] });
    expect((await request()).templateID).toBe(first.templateID);
    expect((await request({ alias: first.templateID })).templateID).toBe(first.templateID);
    const found = await control.api("GET", "/templates/aliases/mine");
    expect(await found.json()).toEqual({ templateID: first.templateID, public: false });
  });

  it.each([
    [{}, "name is required"],
    [{ name: "ä" }, "invalid template reference"],
    [{ name: "team/mine" }, "namespace"],
    [{ name: "base" }, "abx setup"],
    [{ name: "mine", tags: ["a:b"] }, "invalid template reference"],
    [{ name: "mine", cpuCount: 0 }, "cpuCount"],
    [{ name: "mine", memoryMB: 64 }, "memoryMB"],
  ])("%j is refused", async (body, text) => {
    expect(await errorOf(await control.api("POST", "/v3/templates", body))).toMatchObject({
      status: 400,
      message: expect.stringContaining(text) as string,
    });
  });

  it.each([
    [{ fromTemplate: "base", fromImage: "x" }, "exactly one"],
    [{}, "exactly one"],
    [{ fromTemplate: "base", steps: [{ type: "VOLUME", args: [] }] }, "must be one of"],
    [{ fromTemplate: "base", steps: [{ type: "RUN", args: [" "] }] }, "step 1 (RUN)"],
    [{ fromTemplate: "base", steps: [{ type: "ENV", args: ["A"] }] }, "step 1 (ENV)"],
    [{ fromTemplate: "base", steps: [{ type: "COPY", args: ["../a", "b"], filesHash: HASH }] }, "leads out of the context"],
    [{ fromTemplate: "base", steps: [{ type: "COPY", args: ["a", "b"] }] }, "filesHash"],
    [{ fromTemplate: "base", steps: [{ type: "USER", args: ["a b"] }] }, "no user name"],
    [{ fromImage: "x", fromImageRegistry: { type: "registry", username: "me" } }, "fromImageRegistry"],
  ])("a start with %j is refused, and the build still waits", async (body, text) => {
    const { templateID, buildID } = await request();
    const path = `/templates/${templateID}/builds/${buildID}`;
    expect(await errorOf(await control.api("POST", `/v2${path}`, body))).toMatchObject({
      status: 400,
      message: expect.stringContaining(text) as string,
    });
    expect(await (await control.api("GET", `${path}/status`)).json()).toMatchObject({ status: "waiting", logEntries: [] });
  });

  it("end with an error that names the place, once; logs are read by offset, level and time", async () => {
    const { templateID, buildID } = await request();
    const path = `/templates/${templateID}/builds/${buildID}`;
    const body = { fromTemplate: "nothing-here" };
    const started = await control.api("POST", `/v2${path}`, body);
    expect([started.status, await started.text()]).toEqual([202, ""]);
    expect((await control.api("POST", `/v2${path}`, body)).status).toBe(409);
    const status = async (query = "") =>
      (await (await control.api("GET", `${path}/status${query}`)).json()) as { status: string; logEntries: object[] };
    while ((await status()).status === "building") await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await status()).toMatchObject({
      status: "error",
      logs: [],
      reason: { step: "base", message: "template 'nothing-here' not found" },
    });
    expect((await status()).logEntries.length).toBe(2);
    expect((await status("?logsOffset=1")).logEntries.length).toBe(1);
    expect((await status("?level=error")).logEntries.length).toBe(1);
    expect((await status("?limit=0")).logEntries).toEqual([]);
    const backward = (await (await control.api("GET", `${path}/logs?direction=backward&limit=1`)).json()) as { logs: object[] };
    expect(backward.logs).toMatchObject([{ level: "error", step: "base" }]);
  });

  it("that another template or nobody has are not found", async () => {
    const { templateID } = await request();
    for (const path of [
      `/templates/${templateID}/builds/nope/status`,
      "/templates/nope/tags",
      "/templates/nope",
      "/templates/aliases/nope",
    ]) {
      expect((await control.api("GET", path)).status).toBe(404);
    }
    expect((await control.api("DELETE", "/templates/nope")).status).toBe(404);
  });
});

describe("uploads", () => {
  const target = async (templateID: string) =>
    (await (await control.api("GET", `/templates/${templateID}/files/${HASH}`)).json()) as { present: boolean; url: string };
  const put = (url: string, body: string) => fetch(url, { method: "PUT", body });

  it("need the token of their archive and no key, and are present afterwards", async () => {
    const { templateID } = await request();
    const asked = await control.api("GET", `/templates/${templateID}/files/${HASH}`);
    expect(asked.status).toBe(201);
    const { present, url } = await target(templateID);
    expect(present).toBe(false);
    expect((await put(url.replace(/token=\d+/, "token=1"), "x")).status).toBe(401);
    expect((await put(url.slice(0, -1) + (url.endsWith("0") ? "1" : "0"), "x")).status).toBe(401);
    expect((await put(url.replace(HASH, HASH.replace(/^./, HASH.startsWith("0") ? "1" : "0")), "x")).status).toBe(401);
    expect((await put(url, "an archive")).status).toBe(204);
    expect((await target(templateID)).present).toBe(true);
    expect((await control.api("GET", `/templates/${templateID}/files/nope`)).status).toBe(400);
  });

  it("that break off leave nothing", async () => {
    const { templateID } = await request();
    const { url } = await target(templateID);
    const cut = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
      pull: (controller) => controller.error(new Error("gone")),
    });
    await expect(fetch(url, { method: "PUT", body: cut, duplex: "half" } as RequestInit)).rejects.toThrow();
    expect((await target(templateID)).present).toBe(false);
    const directory = join(control.paths.templatesDir, "uploads", templateID);
    while (existsSync(directory) && readdirSync(directory).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});

describe("a platform that ended during a build", () => {
  it("finds the build failed and nothing left of it", async () => {
    const { templateID, buildID } = await request();
    await control.platform.close();
    // What a platform leaves that is killed at this moment.
    const staging = join(control.paths.templatesDir, templateID, `.building-${buildID}`);
    mkdirSync(staging, { recursive: true });
    const database = new DatabaseSync(control.paths.databaseFile);
    database.prepare("UPDATE template_builds SET state = 'building' WHERE build_id = ?").run(buildID);
    database.close();
    control = await control.restart();
    expect(await (await control.api("GET", `/templates/${templateID}/builds/${buildID}/status`)).json()).toMatchObject({
      status: "error",
      reason: { message: expect.stringContaining("platform stopped") as string },
    });
    expect(existsSync(staging)).toBe(false);
  });
});

describe("templates", () => {
  it("are listed in pages, published, and deleted with everything", async () => {
    const ids = [await request({ name: "a" }), await request({ name: "b" })].map(({ templateID }) => templateID);
    const first = await control.api("GET", "/v2/templates?limit=1");
    expect(((await first.json()) as Requested[]).map(({ templateID }) => templateID)).toEqual([ids[0]]);
    const second = await control.api("GET", `/v2/templates?limit=1&nextToken=${first.headers.get("x-next-token")}`);
    expect(((await second.json()) as Requested[]).map(({ templateID }) => templateID)).toEqual([ids[1]]);
    expect(second.headers.get("x-next-token")).toBeNull();
    expect((await control.api("GET", "/v2/templates?nextToken=nope")).status).toBe(400);
    expect((await control.api("DELETE", "/templates/a")).status).toBe(204);
    expect((await control.api("GET", "/templates/a")).status).toBe(404);
    expect(((await (await control.api("GET", "/templates")).json()) as object[]).length).toBe(1);
  });
});
