// What holds the pages to their promises holds itself: a slip in a mark or a command line is told, and not passed over.
import { describe, expect, it } from "vitest";
import { abxCalls, commandLines, findRefusal } from "./support/abx-lines.js";
import { parsePage } from "./support/pages.js";

describe("a page", () => {
  it("gives its blocks with their lines and the marks above them", () => {
    const page = parsePage(
      "p.md",
      "# T\n\n<!-- given: sandbox\nconst a = 1;\n-->\n<!-- not run: no key -->\n```ts\nawait a;\n```\n\ntext\n",
    );
    expect(page.blocks).toMatchObject([{ place: "p.md:7", line: 8, language: "ts", text: "await a;" }]);
    expect(page.blocks[0]?.marks).toEqual([
      { name: "given", rest: "sandbox", body: "const a = 1;\n", line: 3 },
      { name: "not run", rest: "no key", body: "", line: 6 },
    ]);
    expect(page.prose.indexOf("text")).toBe(10);
  });

  it("gives a block of a list without its indent", () => {
    expect(parsePage("p.md", "- a\n  ```sh\n  abx list\n  ```\n").blocks[0]?.text).toBe("abx list");
  });

  it.each([
    ["a mark that nobody knows", "<!-- givn: sandbox -->\n```ts\n```\n", "p.md:1: a comment begins with one of"],
    ["no reason", "<!-- not run: -->\n```ts\n```\n", "p.md:1: `not run:` needs a reason"],
    ["a mark above no block", "<!-- given: sandbox -->\n\ntext\n", "p.md:1: this mark stands above no block"],
    ["a comment without an end", "<!-- given: sandbox\n```ts\n```\n", "p.md:1: this comment has no end"],
    ["a block without an end", "text\n```ts\nconst a = 1;\n", "p.md:2: this block has no end"],
  ])("is refused for %s, with the place", (_what, text, message) => {
    expect(() => parsePage("p.md", text)).toThrow(message);
  });
});

describe("a line of the shell", () => {
  it("is read as far as abx reads it", () => {
    const script =
      'id=$(abx create --timeout 600)  # made\nabx exec "$id" -- sh -c \'a | b\' | cat\nabx cp \\\n  ./a "$id": && echo abxolute\n';
    expect(abxCalls(script)).toEqual([
      ["create", "--timeout", "600"],
      ["exec", "$id", "--", "sh", "-c", "a | b"],
      ["cp", "./a", "$id:"],
    ]);
    expect(commandLines("# only a comment\n\nmake demo   # x\n")).toEqual(["make demo"]);
  });

  it.each([
    [["creat"], /unknown command/],
    [["create", "--nonsense"], /unknown option/],
    [["serve", "--runtime", "vmware"], /invalid/],
    [["info"], /missing required argument/],
    [["template", "biuld"], /unknown command/],
  ])("%j is refused with the words of the program", (args, message) => {
    expect(findRefusal(args)).toMatch(message);
  });

  it("is taken where the program takes it, and in prose also where arguments are left out", () => {
    for (const args of [["mcp"], ["mcp", "install", "cursor"], ["--help"], ["exec", "id", "--", "ls", "-l"]])
      expect(findRefusal(args)).toBeUndefined();
    expect(findRefusal(["info"], { mayBeShort: true })).toBeUndefined();
    expect(findRefusal(["info", "--nonsense"], { mayBeShort: true })).toMatch(/unknown option/);
  });
});
