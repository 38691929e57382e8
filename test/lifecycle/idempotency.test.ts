import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "../control/support/test-control.js";

describe("creations with an Idempotency-Key", () => {
  let control: TestControl;
  beforeAll(async () => {
    control = await startTestControl();
  });
  afterAll(() => control.stop());

  const create = async (key: string, body: object = { templateID: "base" }, signal?: AbortSignal) => {
    const answer = await fetch(`${control.url}/v2/sandboxes`, {
      method: "POST",
      headers: { "x-api-key": control.platform.info.apiKey, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
    return { status: answer.status, body: (await answer.json()) as { sandboxID: string; message: string } };
  };

  it("gives the same sandbox again, also after a restart, and only for the same body", async () => {
    const first = await create("a", { templateID: "base", metadata: { a: "1", b: "2" } });
    expect(first.status).toBe(201);
    expect(await create("a", { metadata: { b: "2", a: "1" }, templateID: "base" })).toEqual(first);
    expect(await create("a", { templateID: "base" })).toMatchObject({ status: 409, body: { message: /another request/ } });
    control = await control.restart();
    expect((await create("a", { templateID: "base", metadata: { a: "1", b: "2" } })).body.sandboxID).toBe(first.body.sandboxID);
  });

  it("lets requests that come meanwhile wait for the first", async () => {
    const before = control.driver.created;
    const answers = await Promise.all(Array.from({ length: 10 }, () => create("b")));
    expect(new Set(answers.map(({ body }) => body.sandboxID)).size).toBe(1);
    expect(control.driver.created).toBe(before + 1);
  });

  it("goes on for the others when the first caller leaves, and ends when all have left", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    control.driver.beforeCreate = () => held;
    const left = new AbortController();
    const first = create("c", undefined, left.signal).catch(() => "left");
    await expect.poll(() => control.log.length >= 0).toBe(true);
    const second = create("c");
    await new Promise((resolve) => setTimeout(resolve, 100));
    left.abort();
    expect(await first).toBe("left");
    release();
    expect((await second).status).toBe(201);
    control.driver.beforeCreate = async () => {};
  });

  it("leaves the key of a creation that failed free, and refuses it once its sandbox ended", async () => {
    control.driver.beforeCreate = async () => {
      throw new Error("no");
    };
    expect((await create("d")).status).toBe(500);
    control.driver.beforeCreate = async () => {};
    const { status, body } = await create("d");
    expect(status).toBe(201);
    await control.api("DELETE", `/sandboxes/${body.sandboxID}`);
    expect(await create("d")).toMatchObject({ status: 409, body: { message: /has ended/ } });
    const refused = await control.api("POST", "/v2/sandboxes", { templateID: "base" }, { "idempotency-key": "d" });
    expect(refused.headers.get("should-retry")).toBe("false");
  });

  it.each(["", "k".repeat(256)])("refuses a key of a wrong length", async (key) => {
    expect((await create(key)).status).toBe(400);
  });
});
