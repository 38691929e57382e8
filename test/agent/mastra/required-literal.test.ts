import fc from "fast-check";
import { expect, it } from "vitest";
import { requiredLiteral } from "../../../src/agent/mastra/required-literal.js";

it.each([
  ["TODO", "TODO"],
  ["function\\s+\\w+\\(", "function"],
  ["^import .* from", "import "],
  ["a.b\\.cde", "b.cde"],
  ["colou?r", "colo"],
  ["ab*c", "a"],
  ["ab+c", "ab"],
  ["abc{0,2}d", "ab"],
  ["abc{2}d", "abc"],
  ["x(a|b)yz", "yz"],
  ["[abc]d[^]]ghi]", "]ghi]"],
  ["[\\]x]def", "def"],
  ["(?:foo)?bar", "bar"],
  ["(?<name>x)longer", "longer"],
  ["([)]|x)after", "after"],
  ["aïvely", "vely"],
  ["a{,3}b", "a{,3}b"],
])("the fixed text of /%s/ is %s", (source, literal) => {
  expect(requiredLiteral(source)).toBe(literal);
});

it.each(["", "a|b", "\\d+", ".*", "(abc)", "[abc]", "x\\u0041y", "(a)\\1", "é?", "a*"])(
  "/%s/ has no fixed text that is looked into",
  (source) => {
    expect(requiredLiteral(source)).toBeUndefined();
  },
);

it("the fixed text is in every match, whatever the expression", () => {
  const atoms = ["a", "b", "-", " ", "é", ".", "\\d", "\\.", "\\w", "[ab]", "(ab)", "(?:a|b)", "^", "$"];
  const quantifiers = ["", "", "", "*", "+", "?", "{2}", "{0,1}", "{1,}", "*?", "+?"];
  const piece = fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...quantifiers));
  const source = fc
    .array(piece, { minLength: 1, maxLength: 6 })
    .map((pieces) => pieces.map(([atom, quantifier]) => (atom === "^" || atom === "$" ? atom : atom + quantifier)).join(""));
  const line = fc.string({ unit: fc.constantFrom("a", "b", "-", " ", "é", ".", "1"), maxLength: 12 });
  fc.assert(
    fc.property(source, fc.array(line, { minLength: 30, maxLength: 30 }), (pattern, lines) => {
      const literal = requiredLiteral(pattern);
      if (literal === undefined) return;
      for (const text of lines) {
        const match = new RegExp(pattern).exec(text);
        if (match !== null) expect(match[0]).toContain(literal);
      }
    }),
    { numRuns: 500 },
  );
});
