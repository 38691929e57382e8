import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteShellCommand, quoteShellWord } from "../../src/shared/shell-quote.js";

const through = (shell: string, words: readonly string[]): string[] => {
  const out = execFileSync(shell, ["-c", quoteShellCommand(["printf", "%s\\0", ...words])], { encoding: "utf8" });
  return out.split("\0").slice(0, -1);
};

describe("shell quoting", () => {
  it("CLI-01: hands arguments to the program as they are, in sh and in bash", () => {
    const words = ["a b", "$HOME", "", "*", "-n", "a;b", "é", "it's", "`id`", "\\", "a\nb", "~", "!x", "#c", "{a,b}", "A=1"];
    expect(through("sh", words)).toEqual(words);
    expect(through("bash", words)).toEqual(words);
  });

  it("holds for every string without NUL", () => {
    const word = fc.string({ unit: "grapheme" }).filter((s) => !s.includes("\0"));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
        expect(through("sh", words)).toEqual(words);
      }),
      { numRuns: 60 },
    );
  });

  it("runs a command whose name is a reserved word or looks like an assignment", () => {
    expect(quoteShellCommand(["time", "x"])).toBe("'time' x");
    expect(quoteShellCommand(["A=1", "x"])).toBe("'A=1' x");
  });

  it("refuses NUL and an empty list", () => {
    expect(() => quoteShellWord("a\0b")).toThrow(TypeError);
    expect(() => quoteShellCommand([])).toThrow(TypeError);
  });
});
