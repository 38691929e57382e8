import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/control/logger.js";

function record(options: Parameters<typeof createLogger>[1]) {
  const lines: string[] = [];
  return { lines, logger: createLogger((line) => lines.push(line), options) };
}

const HOSTILE = "a\nb\r\u001b[31m\u009b\u2028\u0000\ud800 c";

describe("the log of the platform", () => {
  it("has one object per line, whatever a value holds", () => {
    const { lines, logger } = record({ level: "debug" });
    logger.warn("sandbox.failed", { message: HOSTILE, count: 3, isPooled: false, none: undefined });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{[\x20-\x7e]*\}\n$/);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "warn",
      event: "sandbox.failed",
      message: HOSTILE,
      count: 3,
      isPooled: false,
    });
  });

  it("has one line per event for people, whose values cannot pass for others", () => {
    const { lines, logger } = record({ level: "debug", format: "text" });
    logger.error("sandbox.failed", { message: `${HOSTILE} level=info`, sandboxId: "i1", url: "http://127.0.0.1:1", none: undefined });
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR sandbox\.failed message="[\x20-\x7e]*" sandboxId=i1 url=http:\/\/127\.0\.0\.1:1\n$/,
    );
  });

  it("cuts long values", () => {
    for (const format of ["json", "text"] as const) {
      const { lines, logger } = record({ format });
      logger.info("x", { message: "y".repeat(100_000) });
      expect(lines[0]?.length).toBeLessThan(2_200);
    }
  });

  it.each([
    ["debug", ["debug", "info", "warn", "error"]],
    [undefined, ["info", "warn", "error"]],
    ["error", ["error"]],
  ] as const)("at level %s has %j", (level, expected) => {
    const { lines, logger } = record({ level });
    for (const name of ["debug", "info", "warn", "error"] as const) logger[name](name);
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(expected);
  });
});
