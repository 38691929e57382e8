import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
beforeAll(async () => {
  control = await startTestControl();
});
afterAll(() => control.stop());

const errorOf = async (response: Response) => ({
  status: response.status,
  body: (await response.json()) as { code: number; message: string },
});

describe("create", () => {
  it("answers when the daemon is ready, on the newest route always secured with 300 s of life", async () => {
    const response = await control.api("POST", "/v2/sandboxes", { templateID: "base", unknown: { field: 1 } });
    expect(response.status).toBe(201);
    expect(response.headers.get("agent-sandbox-encoding")).toBe("binary");
    expect(response.headers.get("agent-sandbox-services")?.split(", ")).toContain("process.v1");
    const sandbox = (await response.json()) as { sandboxID: string; envdAccessToken: string; domain: string };
    expect(sandbox).toMatchObject({
      templateID: "basetemplate00000000",
      alias: "base",
      envdVersion: "0.6.13",
      clientID: expect.any(String),
    });
    expect(sandbox.sandboxID).toMatch(/^i[a-z0-9]{20}$/);
    expect(sandbox.envdAccessToken).toMatch(/^[0-9a-f]{64}$/);
    expect(sandbox.domain).toBe(`localhost:${control.platform.info.port}`);
    expect((await control.edge(sandbox, "/health")).status).toBe(204);
    expect(await (await control.edge(sandbox, "/envs")).json()).toMatchObject({ E2B_SANDBOX_ID: sandbox.sandboxID });
    const info = (await (await control.api("GET", `/sandboxes/${sandbox.sandboxID}`)).json()) as { startedAt: string; endAt: string };
    expect(Date.parse(info.endAt) - Date.parse(info.startedAt)).toBe(300_000);
  });

  it("on the older route leaves the daemon open unless secure is set, with 15 s of life", async () => {
    const open = (await (await control.api("POST", "/sandboxes", { templateID: "base" })).json()) as { sandboxID: string };
    expect(open).not.toHaveProperty("envdAccessToken");
    const secured = (await (await control.api("POST", "/sandboxes", { templateID: "base", secure: true })).json()) as object;
    expect(secured).toHaveProperty("envdAccessToken");
    const info = (await (await control.api("GET", `/sandboxes/${open.sandboxID}`)).json()) as { startedAt: string; endAt: string };
    expect(Date.parse(info.endAt) - Date.parse(info.startedAt)).toBe(15_000);
  });

  it("gives the variables of the caller to the sandbox", async () => {
    const sandbox = await control.create({ envVars: { GREETING: "a=b\nc" } });
    expect(await (await control.edge(sandbox, "/envs")).json()).toMatchObject({ GREETING: "a=b\nc" });
  });

  it("LIF-18: says that a template is unknown", async () => {
    const { status, body } = await errorOf(await control.api("POST", "/v2/sandboxes", { templateID: "none" }));
    expect([status, body.code, body.message]).toEqual([404, 404, "template 'none' not found"]);
  });

  it.each([
    [{ templateID: "base", timeout: 0 }, /timeout must be >= 1, got 0/],
    [{ templateID: "base", timeout: -5 }, /timeout must be >= 1/],
    [{ templateID: "base", timeout: 2 ** 31 }, /timeout must be <= 2147483647/],
    [{ templateID: "base", timeout: 1.5 }, /timeout must be integer/],
    [{ templateID: 7 }, /templateID must be string/],
    [{}, /required property 'templateID'/],
    [{ templateID: "base", volumeMounts: [{ name: "a", path: "/a" }] }, /there is no volume "a"/],
    [{ templateID: "base", mcp: { server: {} } }, /mcp is not available/],
    [{ templateID: "base", envVars: { "A=B": "c" } }, /must not be empty nor hold/],
    [{ templateID: "base", envVars: { A: "c\0" } }, /holds NUL/],
    [{ templateID: "base", metadata: { a: 1 } }, /metadata.a must be string/],
    [{ templateID: "base", envVars: { A: "x".repeat(131_070) } }, /'A' exceeds the size limit/],
    [{ templateID: "base", envVars: { A: "half \ud800" } }, /'A' must be well-formed/],
    [[{ templateID: "base" }], /body must be object/],
    ["{", /not valid JSON/],
  ])("refuses %j", async (body, message) => {
    const answer = await errorOf(await control.api("POST", "/v2/sandboxes", body));
    expect(answer).toMatchObject({ status: 400, body: { code: 400, error_code: "invalid_argument" } });
    expect(answer.body.message).toMatch(message);
  });

  it("accepts what old clients send without asking for anything", async () => {
    await control.create({
      autoPause: false,
      autoPauseMemory: true,
      autoResume: { enabled: false },
      mcp: null,
      network: {},
      volumeMounts: [],
      iam: {},
    });
  });

  it("LIF-03: keeps lives above 2^31 ms and reports their end", async () => {
    const warnings: Error[] = [];
    process.on("warning", (warning) => warnings.push(warning));
    for (const timeout of [25 * 86_400, 2 ** 31 / 1000 + 1, 2 ** 31 - 1].map(Math.floor)) {
      const { sandboxID } = await control.create({ timeout });
      const info = (await (await control.api("GET", `/sandboxes/${sandboxID}`)).json()) as { endAt: string; startedAt: string };
      expect(Date.parse(info.endAt) - Date.parse(info.startedAt)).toBe(timeout * 1000);
    }
    expect(warnings).toEqual([]);
  });

  it("LIF-17: leaves nothing when the driver or the daemon fails", async () => {
    const before = control.driver.ids();
    control.driver.beforeCreate = async () => {
      throw new Error("no space left");
    };
    const { status, body } = await errorOf(
      await control.api("POST", "/v2/sandboxes", { templateID: "base", metadata: { who: "halfway" } }),
    );
    control.driver.beforeCreate = async () => {};
    expect([status, body.code]).toEqual([500, 500]);
    expect(control.driver.ids()).toEqual(before);
    expect(await (await control.api("GET", "/v2/sandboxes?metadata=who%3Dhalfway")).json()).toEqual([]);
  });

  it("LIF-06: removes the sandbox of a client that left before the answer, and of a kill while it starts", async () => {
    const before = control.driver.ids().length;
    let release = () => {};
    let entered = (_id: string) => {};
    const hold = () => {
      const started = new Promise<string>((resolve) => {
        entered = resolve;
      });
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      control.driver.beforeCreate = async (spec) => {
        entered(spec.id);
        await released;
      };
      return started;
    };

    const started = hold();
    const leaving = new AbortController();
    const request = fetch(`${control.url}/v2/sandboxes`, {
      method: "POST",
      signal: leaving.signal,
      headers: { "x-api-key": control.platform.info.apiKey, "content-type": "application/json" },
      body: '{"templateID":"base"}',
    });
    await started;
    leaving.abort();
    await expect(request).rejects.toThrow();
    release();

    const startedAgain = hold();
    const pending = control.api("POST", "/v2/sandboxes", { templateID: "base" });
    const kill = control.api("DELETE", `/sandboxes/${await startedAgain}`);
    release();
    expect((await kill).status).toBe(204);
    expect((await pending).status).toBe(409);
    control.driver.beforeCreate = async () => {};
    await expect.poll(() => control.driver.ids().length).toBe(before);
  });

  it("LIF-06: removes the sandbox of a client that leaves in the last step before the answer", async () => {
    const before = control.driver.ids();
    const body = '{"templateID":"base","metadata":{"who":"left late"}}';
    const client = connect(Number(new URL(control.url).port), "127.0.0.1");
    const received: Buffer[] = [];
    client.on("data", (bytes) => received.push(bytes));
    const left = new Promise<void>((resolve) => {
      control.watchLog((line) => {
        if (!line.includes('"sandbox.created"')) return;
        client.destroy();
        resolve();
      });
    });
    client.write(
      `POST /v2/sandboxes HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${control.platform.info.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await left;
    control.watchLog(() => {});
    await expect.poll(() => control.driver.ids()).toEqual(before);
    expect(received).toEqual([]);
    expect(await (await control.api("GET", "/v2/sandboxes?metadata=who%3Dleft%20late")).json()).toEqual([]);
  });
});

describe("kill", () => {
  it("removes the sandbox; the second kill and all other calls find nothing", async () => {
    const sandbox = await control.create();
    const path = `/sandboxes/${sandbox.sandboxID}`;
    const answers = await Promise.all([control.api("DELETE", path), control.api("DELETE", path)]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, 404]);
    expect(control.driver.ids()).not.toContain(sandbox.sandboxID);
    for (const [method, suffix, body] of [
      ["GET", "", undefined],
      ["POST", "/connect", { timeout: 10 }],
      ["POST", "/timeout", { timeout: 10 }],
      ["POST", "/refreshes", {}],
    ] as const) {
      const answer = await errorOf(await control.api(method, path + suffix, body));
      expect(answer).toMatchObject({ status: 404, body: { code: 404, error_code: "sandbox_not_found" } });
    }
    const edge = await control.edge(sandbox, "/health");
    expect(edge.status).toBe(502);
    expect(await edge.json()).toMatchObject({ sandboxId: sandbox.sandboxID, message: "The sandbox was not found", code: 502 });
  });

  it("answers 404 for an id that never was and 400 for what is no id", async () => {
    expect((await control.api("DELETE", "/sandboxes/nonexistingsandbox")).status).toBe(404);
    for (const id of ["UPPER", "a-b-c", "a%2Fb", "%00", "a.b"]) {
      const { status, body } = await errorOf(await control.api("GET", `/sandboxes/${id}`));
      expect([id, status, body.message]).toEqual([id, 400, "Invalid sandbox ID"]);
    }
  });

  it("understands the older form of an id", async () => {
    const { sandboxID } = await control.create();
    expect((await control.api("GET", `/sandboxes/${sandboxID}-6532622b`)).status).toBe(200);
  });
});

describe("life", () => {
  const endOf = async (id: string) =>
    Date.parse(((await (await control.api("GET", `/sandboxes/${id}`)).json()) as { endAt: string }).endAt) - Date.now();

  it("connect and refreshes only prolong, timeout sets exactly", async () => {
    const { sandboxID } = await control.create({ timeout: 600 });
    const path = `/sandboxes/${sandboxID}`;
    const connected = await control.api("POST", `/v2${path}/connect`);
    expect(connected.status).toBe(200);
    expect(await connected.json()).toMatchObject({ sandboxID, envdAccessToken: expect.any(String), domain: expect.any(String) });
    expect(await endOf(sandboxID)).toBeGreaterThan(590_000);
    expect((await control.api("POST", `${path}/connect`, { timeout: 0 })).status).toBe(200);
    expect((await control.api("POST", `${path}/connect`, {})).status).toBe(400);
    expect((await control.api("POST", `/v2${path}/connect`, { timeout: 0 })).status).toBe(400);
    expect((await control.api("POST", `${path}/connect`, { timeout: 900 })).status).toBe(200);
    expect(await endOf(sandboxID)).toBeGreaterThan(890_000);
    expect((await control.api("POST", `${path}/timeout`, { timeout: 1 + 60 })).status).toBe(204);
    expect(await endOf(sandboxID)).toBeLessThanOrEqual(61_000);
    expect((await control.api("POST", `${path}/refreshes`, { duration: 120 })).status).toBe(204);
    expect(await endOf(sandboxID)).toBeGreaterThan(110_000);
    expect((await control.api("POST", `${path}/timeout`, { timeout: -1 })).status).toBe(400);
  });

  it("ends at its deadline, and at once with a timeout of 0", async () => {
    const short = await control.create({ timeout: 1 });
    const { sandboxID } = await control.create();
    expect((await control.api("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 0 })).status).toBe(204);
    expect((await control.api("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
    await expect.poll(async () => (await control.api("GET", `/sandboxes/${short.sandboxID}`)).status, { timeout: 5_000 }).toBe(404);
    await expect.poll(() => control.driver.ids()).not.toContain(short.sandboxID);
  });

  it("a daemon that dies takes its sandbox with it at once", async () => {
    const sandbox = await control.create();
    process.kill(control.driver.pidOf(sandbox.sandboxID), "SIGKILL");
    await expect.poll(async () => (await control.api("GET", `/sandboxes/${sandbox.sandboxID}`)).status).toBe(404);
    expect((await control.edge(sandbox, "/health")).status).toBe(502);
    await expect.poll(() => control.driver.ids()).not.toContain(sandbox.sandboxID);
  });
});

describe("pause", () => {
  it("a sandbox whose time is over is paused by a later try when it could not be at once", async () => {
    let tries = 0;
    control.driver.afterFreeze = async () => {
      tries += 1;
      if (tries === 1) throw new Error("not at this moment");
    };
    const { sandboxID } = await control.create({ autoPause: true, timeout: 1 });
    const state = async () => ((await (await control.api("GET", `/sandboxes/${sandboxID}`)).json()) as { state: string }).state;
    await expect.poll(state, { timeout: 15_000 }).toBe("paused");
    control.driver.afterFreeze = async () => {};
    expect(tries).toBe(2);
    expect((await control.api("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  }, 20_000);

  it("holds back a request that comes while it goes on, and wakes the sandbox for it", async () => {
    const sandbox = await control.create({ autoPause: true, autoResume: { enabled: true } });
    let release = () => {};
    const frozen = new Promise<void>((resolve) => {
      control.driver.afterFreeze = () => {
        resolve();
        return new Promise((done) => {
          release = done;
        });
      };
    });
    const pause = control.api("POST", `/sandboxes/${sandbox.sandboxID}/pause`);
    await frozen;
    control.driver.afterFreeze = async () => {};
    expect(await (await control.api("GET", `/sandboxes/${sandbox.sandboxID}`)).json()).toMatchObject({ state: "paused" });
    const answer = control.edge(sandbox, "/envs");
    // The platform takes up requests in their order, so the one before was looked at when this one is answered.
    await control.api("GET", "/health");
    release();
    expect((await pause).status).toBe(204);
    expect((await answer).status).toBe(200);
    await control.api("DELETE", `/sandboxes/${sandbox.sandboxID}`);
  });
});

describe("list", () => {
  it("LIF-07: gives pages, tells the last one, and refuses bad tokens and limits", async () => {
    const tag = `page${Date.now()}`;
    const created = await Promise.all(Array.from({ length: 5 }, () => control.create({ metadata: { tag, "a b&c": "d=é%" } })));
    const query = `metadata=${encodeURIComponent(encodeURIComponent(`tag`))}%3D${tag}`;
    const seen: string[] = [];
    let token: string | null = null;
    let pages = 0;
    do {
      const page: Response = await control.api("GET", `/v2/sandboxes?${query}&limit=2${token === null ? "" : `&nextToken=${token}`}`);
      expect(page.headers.get("x-total-running")).toBe("5");
      seen.push(...((await page.json()) as { sandboxID: string }[]).map((entry) => entry.sandboxID));
      token = page.headers.get("x-next-token");
      pages++;
    } while (token !== null);
    expect(pages).toBe(3);
    expect([...seen].sort()).toEqual(created.map((sandbox) => sandbox.sandboxID).sort());
    const first = await control.api("GET", `/v2/sandboxes?${query}&limit=1`);
    const otherOrder = await control.api("GET", `/v2/sandboxes?${query}&order=asc&nextToken=${first.headers.get("x-next-token")}`);
    expect(otherOrder.status).toBe(400);
    for (const bad of [
      "limit=0",
      "limit=-1",
      "limit=101",
      "limit=1.5",
      "limit=x",
      "nextToken=garbage",
      "order=up",
      "state=gone",
      "startedAfter=now",
      "metadata=a",
      "template=base:v1",
    ]) {
      const { status, body } = await errorOf(await control.api("GET", `/v2/sandboxes?${bad}`));
      expect([bad, status, body.code]).toEqual([bad, 400, 400]);
    }
  });

  it("a filter by a key that means something in JavaScript is a filter like any other", async () => {
    for (const key of ["__proto__", "constructor"]) {
      expect(await (await control.api("GET", `/v2/sandboxes?metadata=${key}%3Dx`)).json()).toEqual([]);
      const { sandboxID } = await control.create({ metadata: JSON.parse(`{"${key}":"x"}`) });
      const listed = await (await control.api("GET", `/v2/sandboxes?metadata=${key}%3Dx`)).json();
      expect(listed).toMatchObject([{ sandboxID }]);
    }
  });

  it("filters by metadata as clients encode it, by start, template and state", async () => {
    const { sandboxID } = await control.create({ metadata: { "a b&c": "d=é%+" } });
    const ids = async (query: string) =>
      ((await (await control.api("GET", `/v2/sandboxes?${query}`)).json()) as { sandboxID: string }[]).map((s) => s.sandboxID);
    const pairs = new URLSearchParams({ [encodeURIComponent("a b&c")]: encodeURIComponent("d=é%+") }).toString();
    expect(await ids(`metadata=${encodeURIComponent(pairs)}`)).toEqual([sandboxID]);
    expect(await ids(`metadata=nothing%3Dhere`)).toEqual([]);
    expect(await ids("template=base")).toContain(sandboxID);
    expect(await ids("template=other")).toEqual([]);
    expect(await ids("state=running,paused")).toContain(sandboxID);
    expect(await ids("state=paused")).toEqual([]);
    expect(await ids(`startedAfter=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    const oldest = await ids("order=asc&limit=100");
    expect(oldest.toReversed()[0]).toBe((await ids("limit=1"))[0]);
  });
});

it("LIF-21: creates many at once with ids of their own and kills them all", async () => {
  const created = await Promise.all(Array.from({ length: 10 }, (_, index) => control.create({ envVars: { INDEX: String(index) } })));
  expect(new Set(created.map((sandbox) => sandbox.sandboxID)).size).toBe(10);
  const envs = await Promise.all(
    created.map(async (sandbox) => ((await (await control.edge(sandbox, "/envs")).json()) as { INDEX: string }).INDEX),
  );
  expect(envs).toEqual(created.map((_, index) => String(index)));
  await Promise.all(created.map((sandbox) => control.api("DELETE", `/sandboxes/${sandbox.sandboxID}`)));
  const left = new Set(control.driver.ids());
  expect(created.filter((sandbox) => left.has(sandbox.sandboxID))).toEqual([]);
});
