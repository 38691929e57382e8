import { describe, expect, it } from "vitest";
import { exitStatusOf } from "../../src/agent/exit-status.js";
import { SIGNAL_WORDS } from "../../src/shared/signal-words.js";

describe("the exit status that frameworks get", () => {
  it("is the program's own", () => {
    expect(exitStatusOf({ exitCode: 42 })).toBe(42);
  });

  it("is 128 plus the number of the signal, for each that the wire can name", () => {
    expect(exitStatusOf({ exitCode: -1, signal: "SIGKILL" })).toBe(137);
    for (const signal of Object.keys(SIGNAL_WORDS)) expect(exitStatusOf({ exitCode: -1, signal }), signal).toBeGreaterThan(128);
  });
});
