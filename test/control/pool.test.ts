import { afterEach, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
afterEach(() => control.stop());

const untilWarm = (count: number) => expect.poll(() => control.driver.ids().length, { timeout: 10_000, interval: 20 }).toBe(count);
const logged = (event: string) => control.log.filter((line) => (JSON.parse(line) as { event: string }).event === event).length;

describe("warm pool", () => {
  it("hands entries over under their id, stays out of lists, and fills up again", async () => {
    control = await startTestControl({ poolSize: 2 });
    await untilWarm(2);
    await expect.poll(() => logged("pool.added")).toBe(2);
    const warm = control.driver.ids();
    expect(await (await control.api("GET", "/v2/sandboxes")).json()).toEqual([]);
    expect((await control.api("GET", `/sandboxes/${warm[0]}`)).status).toBe(404);
    expect((await control.edge({ sandboxID: warm[0] as string }, "/health")).status).toBe(502);
    const sandbox = await control.create({ envVars: { A: "1" } });
    expect(warm).toContain(sandbox.sandboxID);
    expect(await (await control.edge(sandbox, "/envs")).json()).toMatchObject({ A: "1", E2B_SANDBOX_ID: sandbox.sandboxID });
    expect((await control.edge({ sandboxID: sandbox.sandboxID }, "/envs")).status).toBe(401);
    await untilWarm(3);
    await control.api("DELETE", `/sandboxes/${sandbox.sandboxID}`);
    await control.platform.close();
    expect(control.driver.ids()).toEqual([]);
  });

  it("a creation that finds the pool empty starts its own, and more creations than entries all succeed", async () => {
    control = await startTestControl({ poolSize: 1 });
    await untilWarm(1);
    const created = await Promise.all(Array.from({ length: 4 }, () => control.create()));
    expect(new Set(created.map((sandbox) => sandbox.sandboxID)).size).toBe(4);
  });

  it("replaces an entry that dies", async () => {
    control = await startTestControl({ poolSize: 1 });
    await expect.poll(() => logged("pool.added"), { timeout: 10_000 }).toBe(1);
    const [first] = control.driver.ids();
    process.kill(control.driver.pidOf(first as string), "SIGKILL");
    await expect.poll(() => logged("pool.added"), { timeout: 10_000 }).toBe(2);
    expect(control.driver.ids()).not.toContain(first);
    expect((await control.create()).sandboxID).not.toBe(first);
  });

  it("a new owner of the directories buries the entries of one that was killed", async () => {
    control = await startTestControl({ poolSize: 0 });
    // An instance without a record is what a killed platform leaves of its pool.
    await control.driver.create({ id: "iorphan", templateDir: "/nonexistent", limits: { memoryBytes: 1, cpuCount: 1, pidsMax: 1 } });
    control = await control.restart();
    expect(control.driver.ids()).toEqual([]);
  });
});
