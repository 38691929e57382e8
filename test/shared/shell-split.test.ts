import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CustomCommand, parseCustomCommands, toShellLine } from "../../src/shared/custom-commands.js";
import { quoteShellCommand } from "../../src/shared/shell-quote.js";
import { splitShellWords } from "../../src/shared/shell-split.js";

describe("splitShellWords", () => {
  test.each([
    ["", []],
    ["  a  b\tc\n", ["a", "b", "c"]],
    [`a' b 'c"d e"f`, ["a b cd ef"]],
    [`'' ""`, ["", ""]],
    [`"a\\"b\\\\c\\d"`, ['a"b\\c\\d']],
    ["a\\ b \\'", ["a b", "'"]],
    ["a|b > c; $d `e` *", ["a|b", ">", "c;", "$d", "`e`", "*"]],
  ])("splits %j", (line, words) => expect(splitShellWords(line)).toEqual(words));

  test.each(["'a", '"a', '"a\\', "a\\"])("refuses %j", (line) => expect(() => splitShellWords(line)).toThrow());

  test("reads back what the quoting of this package writes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: "binary" }).filter((text) => !text.includes("\0")),
          { minLength: 1 },
        ),
        (words) => {
          expect(splitShellWords(quoteShellCommand(words))).toEqual(words);
        },
      ),
    );
  });
});

test("bash passes any value of a custom command on as one word", () => {
  const [command] = parseCustomCommands({ show: { cmd: "printf '%s\\0' {a} x{b}y", args: [{ name: "a" }, { name: "b" }] } }, "test") as [
    CustomCommand,
  ];
  const text = fc.string({ unit: fc.constantFrom(..."ab'\"\\$`(){}[]*?!#~;&|<> \n\t-=1%") });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const out = execFileSync("/bin/bash", ["-c", toShellLine(command, { a, b })], { cwd: "/" }).toString();
      expect(out).toBe(`${a}\0x${b}y\0`);
    }),
    { numRuns: 50 },
  );
});
