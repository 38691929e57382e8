import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLineWindow } from "../../../src/agent/langchain/line-window.js";

async function* cutInto(text: string, sizeBytes: number) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += sizeBytes) yield bytes.subarray(at, at + sizeBytes);
}

describe("a window of lines", () => {
  it("is the same however the text is cut into pieces", async () => {
    const text = fc.array(fc.constantFrom("a", "\n", "é", "🚀", "\r"), { maxLength: 40 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), fc.nat(6), fc.nat(6), async (whole, size, offset, limit) => {
        const lines = whole.split("\n");
        const totalLines = lines.at(-1) === "" ? lines.length - 1 : lines.length;
        const window = await readLineWindow(cutInto(whole, size), { offset, limit });
        const wanted = lines.slice(offset, Math.min(offset + limit, totalLines));
        expect(window.count).toBe(wanted.length);
        expect(window.totalLines).toBe(totalLines);
        const hasEnd = whole.endsWith("\n") && wanted.length > 0 && wanted.length < limit;
        expect(window.text).toBe(wanted.join("\n") + (hasEnd ? "\n" : ""));
      }),
      { numRuns: 2_000 },
    );
  });

  it("ends with the end of the last line only where the text ends inside the window", async () => {
    const read = async (text: string, limit: number) => (await readLineWindow(cutInto(text, 3), { offset: 0, limit })).text;
    expect(await read("a\nb\n", 5)).toBe("a\nb\n");
    expect(await read("a\nb\n", 2)).toBe("a\nb");
    expect(await read("a\nb", 5)).toBe("a\nb");
    expect(await read("\n\n", 5)).toBe("\n\n");
  });

  it("holds whole lines as far as they fit, and of a line that is longer the beginning", async () => {
    const long = `${"x".repeat(700_000)}\n`;
    const two = await readLineWindow(cutInto(long.repeat(3), 65_536), { offset: 0, limit: 10 });
    expect(two).toMatchObject({ count: 1, totalLines: 3 });
    const one = await readLineWindow(cutInto(`${"y".repeat(3_000_000)}\nz\n`, 65_536), { offset: 0, limit: 10 });
    expect(one.count).toBe(1);
    expect(one.text.length).toBeLessThan(1_100_000);
    expect(one.text).toMatch(/y\[… 1951424 bytes of this line left out …\]$/);
  });

  it("stops reading when the rest is too long to be counted", async () => {
    let pieces = 0;
    let hasEnded = false;
    async function* endless() {
      try {
        for (;;) {
          pieces += 1;
          yield new TextEncoder().encode("line\n".repeat(200_000));
        }
      } finally {
        hasEnded = true;
      }
    }
    expect(await readLineWindow(endless(), { offset: 0, limit: 3 })).toEqual({ text: "line\nline\nline", count: 3, totalLines: undefined });
    expect(pieces).toBeLessThan(100);
    expect(hasEnded).toBe(true);
  });
});
