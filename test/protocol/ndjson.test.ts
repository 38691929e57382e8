import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
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

  it("COD-11: a line of many pieces costs as much as its length: no byte is looked at or copied again for each piece", async () => {
    const workOf = async (pieces: number) => {
      const line = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(pieces * 1000) }));
      async function* chunks() {
        for (let start = 0; start < line.length; start += 1000) yield line.subarray(start, start + 1000);
      }
      using work = countByteWork();
      const found: unknown[] = [];
      for await (const value of readJsonLines(chunks())) found.push(value);
      expect(found).toHaveLength(1);
      return work.bytes / line.length;
    };
    // Searched, kept, joined, decoded and parsed. With work for each piece on what came before, it would be half the number of pieces.
    expect(await workOf(200)).toBeLessThan(8);
    expect(await workOf(2_000)).toBeLessThan(8);
  });
});

/** Counts the bytes, and characters of texts, that go through what can search, copy, decode and parse them. */
function countByteWork() {
  const work = { bytes: 0 };
  const spies: { mockRestore(): void }[] = [];
  const count = (
    owner: object,
    name: string,
    sizeOf: (self: { readonly length: number }, argument: { readonly length: number }) => number,
  ) => {
    const methods = owner as Record<string, (...args: unknown[]) => unknown>;
    const original = methods[name] as (...args: unknown[]) => unknown;
    const spy = vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...args: unknown[]) {
      work.bytes += sizeOf(this as { length: number }, args[0] as { length: number });
      return original.apply(this, args);
    });
    spies.push(spy);
  };
  const bytes = Object.getPrototypeOf(Uint8Array.prototype) as object;
  for (const name of ["indexOf", "slice", "includes", "lastIndexOf"]) count(bytes, name, (self) => self.length);
  count(bytes, "set", (_, source) => source.length);
  count(TextDecoder.prototype, "decode", (_, source) => source?.length ?? 0);
  count(JSON, "parse", (_, text) => text.length);
  return {
    get bytes() {
      return work.bytes;
    },
    [Symbol.dispose]: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}
