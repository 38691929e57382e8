import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJsonLines } from "../../src/protocol/ndjson.js";

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (let index = 0; start < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    // One buffer for all chunks, as a transport may do.
    const shared = new Uint8Array(size);
    const part = bytes.subarray(start, start + size);
    shared.set(part);
    yield shared.subarray(0, part.length);
    shared.fill(0x78);
    start += size;
  }
}

async function read(text: string, sizes: readonly number[] = [1]): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const value of readJsonLines(cut(new TextEncoder().encode(text), sizes))) found.push(value);
  return found;
}

describe("lines of JSON", () => {
  it("COD-11: are the same however the stream is cut", async () => {
    const line = fc.record({ type: fc.string({ unit: "binary" }), n: fc.integer() });
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), async (lines, sizes) => {
        expect(await read(lines.map((value) => `${JSON.stringify(value)}\n`).join(""), sizes)).toEqual(lines);
      }),
    );
  });

  it("COD-11: may lack the last line end, and blank lines say nothing", async () => {
    expect(await read('\n{"a":"数据🙂"}\r\n\n{"b":2}')).toEqual([{ a: "数据🙂" }, { b: 2 }]);
  });

  it("COD-11: a line that is no object is a typed error", async () => {
    await expect(read('{"a":1}\n{"b":\n')).rejects.toMatchObject({
      name: "ProtocolError",
      message: expect.stringContaining('{"b":') as string,
    });
    await expect(read("5\n")).rejects.toMatchObject({ name: "ProtocolError" });
  });

  it("COD-11: a line of many pieces costs as much as its length", async () => {
    const time = async (count: number) => {
      const text = JSON.stringify({ text: "x".repeat(count * 1000) });
      const tries: number[] = [];
      for (let run = 0; run < 3; run += 1) {
        const startedAt = performance.now();
        await read(text, [1000]);
        tries.push(performance.now() - startedAt);
      }
      return Math.min(...tries);
    };
    await time(2_000);
    // Quadratic, the longer one would take a hundred times as long.
    expect(await time(20_000)).toBeLessThan(30 * Math.max(2, await time(2_000)));
  });
});
