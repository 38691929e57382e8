import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { toErrorAnswer } from "../../src/control/rest/json-answer.js";
import { startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
beforeAll(async () => {
  control = await startTestControl();
});
afterAll(() => control.stop());

it("a sandbox is killed though nothing can be written about it: that is what makes room", async () => {
  const { sandboxID } = await control.create();
  const { prepare } = DatabaseSync.prototype;
  const full = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, sql: string) {
    if (/^(UPDATE|INSERT|DELETE)/.test(sql))
      throw Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
    return prepare.call(this, sql);
  });
  const refused = await control.api("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 900 });
  expect([refused.status, ((await refused.json()) as { error_code: string }).error_code]).toEqual([507, "not_enough_space"]);
  expect((await control.api("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  expect(control.driver.ids()).not.toContain(sandboxID);
  expect((await control.edge({ sandboxID }, "/health")).status).toBe(502);
  full.mockRestore();
  // The next end has room for both.
  const next = await control.create();
  expect((await control.api("DELETE", `/sandboxes/${next.sandboxID}`)).status).toBe(204);
  expect((await control.api("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
});

it("a call for which the disk has no room says so", () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE t (x); PRAGMA max_page_count = 2;");
  const failures = [
    () => database.prepare("INSERT INTO t VALUES (?)").run("x".repeat(100_000)),
    () => throwErrno("ENOSPC"),
    () => throwErrno("EDQUOT"),
  ];
  for (const fail of failures) {
    let error: unknown;
    try {
      fail();
    } catch (thrown) {
      error = thrown;
    }
    expect(toErrorAnswer(error)).toMatchObject({ status: 507, body: { code: 507, error_code: "not_enough_space" } });
  }
});

function throwErrno(code: string): never {
  throw Object.assign(new Error(`${code}: copyfile`), { code });
}
