import { describe, expect, it } from "vitest";
import { parseGlob } from "../../../src/agent/search/glob-pattern.js";

const matching = (pattern: string, paths: readonly string[]) => paths.filter((path) => parseGlob(pattern).matches(path));

describe("globs", () => {
  it("match within a name, over directories, and by classes and alternatives", () => {
    const paths = ["a.txt", "ab.txt", ".hidden", "src/a.ts", "src/deep/b.tsx", "src/deep/é.ts", "src", "x[1].md", "1.md", "a{b}.c"];
    for (const [pattern, expected] of [
      ["*.txt", ["a.txt", "ab.txt"]],
      ["?.txt", ["a.txt"]],
      ["*", ["a.txt", "ab.txt", ".hidden", "src", "x[1].md", "1.md", "a{b}.c"]],
      [".*", [".hidden"]],
      ["**/*.ts", ["src/a.ts", "src/deep/é.ts"]],
      ["src/**", ["src/a.ts", "src/deep/b.tsx", "src/deep/é.ts"]],
      ["src/**/?.ts", ["src/a.ts", "src/deep/é.ts"]],
      ["**/deep/*.{ts,tsx}", ["src/deep/b.tsx", "src/deep/é.ts"]],
      ["**", paths],
      ["[a-b]*.txt", ["a.txt", "ab.txt"]],
      ["[!a].md", ["1.md"]],
      ["[^a].md", ["1.md"]],
      ["x\\[1\\].md", ["x[1].md"]],
      ["x[[]1].md", ["x[1].md"]],
      ["a{b}.c", ["a{b}.c"]],
      ["{a,{1,x\\[1\\]}}.{txt,md}", ["a.txt", "x[1].md", "1.md"]],
      ["src/*", ["src/a.ts"]],
      ["", []],
      ["[", []],
    ] as const) {
      expect(matching(pattern, paths), pattern).toEqual(expected);
    }
  });

  it("tell how deep a path can lie", () => {
    expect(parseGlob("*.ts").maxDepth).toBe(1);
    expect(parseGlob("{a,b/c}/*.ts").maxDepth).toBe(3);
    expect(parseGlob("{a,**}/*.ts").maxDepth).toBeUndefined();
  });

  it("take no time that grows beyond the product of both lengths", () => {
    const stars = `${"*a".repeat(60)}b`;
    expect(matching(stars, ["a".repeat(255)])).toEqual([]);
    expect(matching(`${"**/".repeat(60)}b`, [Array.from({ length: 1_000 }, () => "a").join("/")])).toEqual([]);
    expect(() => parseGlob("{a,b}".repeat(20))).toThrow(/more than 100 patterns/);
    expect(matching("{".repeat(4_096), ["{"])).toEqual([]);
    expect(() => parseGlob("{".repeat(4_097))).toThrow(/more than 4096 characters/);
  });
});
