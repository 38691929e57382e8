import { InvalidArgumentError } from "commander";
import { describe, expect, it } from "vitest";
import { collectPair, parsePort, parseWholeNumber } from "../../src/cli/option-parsers.js";

describe("option parsers", () => {
  it("CLI-06: take whole numbers and refuse everything else", () => {
    expect(parseWholeNumber("0")).toBe(0);
    expect(parseWholeNumber("300")).toBe(300);
    for (const text of ["abc", "1e3", "-1", "", "08", "5x", " 5", "1.5", "NaN", "Infinity", "9007199254740993"]) {
      expect(() => parseWholeNumber(text), text).toThrow(InvalidArgumentError);
    }
    expect(() => parsePort("65536")).toThrow(InvalidArgumentError);
  });

  it("CLI-06: split pairs at the first = and keep the rest of the value", () => {
    expect(collectPair("A=b=c", { Z: "1" })).toEqual({ Z: "1", A: "b=c" });
    expect(collectPair("A=")).toEqual({ A: "" });
    for (const text of ["A", "=b", ""]) expect(() => collectPair(text), text).toThrow(InvalidArgumentError);
  });
});
