import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../src/cli/exit-code.js";
import { exitStatusOf, signalOfEnding } from "../../src/cli/exit-signal.js";
import { AuthenticationError, NotFoundError, RateLimitError, SandboxNotFoundError, TimeoutError } from "../../src/errors/error-classes.js";

describe("exit status", () => {
  it("tells apart authentication, not found, timeout and quota", () => {
    expect(exitCodeOf(new AuthenticationError("x"))).toBe(3);
    expect(exitCodeOf(new SandboxNotFoundError("x"))).toBe(4);
    expect(exitCodeOf(new NotFoundError("x"))).toBe(4);
    expect(exitCodeOf(new TimeoutError("x", { timeout: "sandbox" }))).toBe(5);
    expect(exitCodeOf(new RateLimitError("x"))).toBe(6);
    expect(exitCodeOf(new Error("x"))).toBe(1);
    expect(exitCodeOf(undefined)).toBe(1);
  });

  it("CLI-01: is that of the command, or 128 and the signal", () => {
    expect(exitStatusOf(42, signalOfEnding("exit status 42"))).toBe(42);
    expect(exitStatusOf(-1, signalOfEnding("signal: killed"))).toBe(137);
    expect(exitStatusOf(-1, signalOfEnding("signal: segmentation fault (core dumped)"))).toBe(139);
    expect(exitStatusOf(-1, signalOfEnding("signal: signal 16"))).toBe(144);
    expect(signalOfEnding(undefined)).toBeUndefined();
    expect(signalOfEnding("signal: something new")).toBeUndefined();
  });
});
