import { assert as check, constantFrom, dictionary, oneof, property, string, stringMatching, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { readTraceContext, readTraceVariables } from "../../src/shared/trace-context.js";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const read = (headers: Readonly<Record<string, unknown>>) => readTraceContext((name) => headers[name]);

describe("the context of a trace", () => {
  it("is passed on where all of it is valid, without the space around its parts", () => {
    const headers = {
      traceparent: PARENT,
      tracestate: "congo=t61rcWkgMzE, rojo@vendor=00f067 aa0ba902b7 ,,",
      baggage: "user%20id = 4%202 ;p;q= 1,a=",
    };
    expect(read(headers)).toEqual({
      traceparent: PARENT,
      tracestate: "congo=t61rcWkgMzE,rojo@vendor=00f067 aa0ba902b7",
      baggage: "user%20id=4%202;p;q=1,a=",
    });
    expect(readTraceVariables((name) => headers[name as "baggage"])).toEqual({
      TRACEPARENT: PARENT,
      TRACESTATE: "congo=t61rcWkgMzE,rojo@vendor=00f067 aa0ba902b7",
      BAGGAGE: "user%20id=4%202;p;q=1,a=",
    });
  });

  it("of a later version is passed on as this one", () => {
    expect(read({ traceparent: `cc${PARENT.slice(2)}-more` }).traceparent).toBe(PARENT);
    expect(read({ traceparent: `cc${PARENT.slice(2)}` }).traceparent).toBe(PARENT);
  });

  it.each([
    `ff${PARENT.slice(2)}`,
    `${PARENT}-more`,
    `cc${PARENT.slice(2)}.more`,
    PARENT.toUpperCase(),
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01`,
    `${PARENT}\nLD_PRELOAD=/tmp/x`,
    `${PARENT}\0`,
    `${PARENT}, ${PARENT}`,
    `cc${PARENT.slice(2)}-${"x".repeat(300)}`,
    "",
    undefined,
    [PARENT, PARENT],
  ])("counts as absent when its parent is %j, and its state with it", (traceparent) => {
    expect(read({ traceparent, tracestate: "a=1" })).toEqual({});
  });

  it.each([
    "a=1,a=2",
    "A=1",
    "a",
    "a=",
    "a=\u00e9",
    "a=b=c",
    Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(),
    `a=${"x".repeat(257)}`,
    Array.from({ length: 31 }, (_, index) => `k${index}=${"x".repeat(20)}`).join(),
  ])("loses a state that is not valid: %j", (tracestate) => {
    expect(read({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT });
  });

  it.each([
    "a=1,b",
    "a b=1",
    'a="1"',
    "a=1\\",
    "a=1;b c",
    "a=\u00e9",
    "a=1,b=2\r\nx: y",
    "a=1\0",
    `a=${"x".repeat(8_192)}`,
    Array.from({ length: 181 }, (_, index) => `k${index}=1`).join(),
    ",, ,",
  ])("loses a baggage that is not valid: %j", (baggage) => {
    expect(read({ traceparent: PARENT, baggage })).toEqual({ traceparent: PARENT });
  });

  it("needs no parent for its baggage", () => {
    expect(read({ baggage: "a=1" })).toEqual({ baggage: "a=1" });
  });

  it("is one short line of printable ASCII, whatever comes in, and reading it again changes nothing", () => {
    const text = oneof(string({ maxLength: 600 }), string({ unit: "binary", maxLength: 300 }), stringMatching(/^[a-c=;, \t%\n"\\]{0,80}$/));
    const parent = tuple(constantFrom("00", "01", "ff"), hexaString32(), hexaString16(), constantFrom("00", "01", "01-x", "zz")).map(
      (parts) => parts.join("-"),
    );
    check(
      property(dictionary(constantFrom("tracestate", "baggage"), text), oneof(parent, text), (others, traceparent) => {
        const context = read({ ...others, traceparent });
        for (const value of Object.values(context)) {
          expect(value).toMatch(/^[ -~]{1,8192}$/);
        }
        expect(read({ ...context })).toEqual(context);
      }),
    );
  });

  it("is read in a time that grows with its length only", () => {
    // A pattern that tries every split of the spaces would not come back.
    for (const hostile of [
      " ".repeat(8_000),
      `a${" ".repeat(8_000)}b`,
      `${"a;".repeat(4_000)}`,
      `${"=".repeat(8_000)}`,
      `${" ,".repeat(4_000)}`,
    ]) {
      expect(read({ traceparent: hostile, tracestate: hostile, baggage: hostile }).traceparent).toBeUndefined();
    }
  });
});

function hexaString32() {
  return stringMatching(/^[0-9a-f]{32}$/);
}

function hexaString16() {
  return stringMatching(/^[0-9a-f]{16}$/);
}
