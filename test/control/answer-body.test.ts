import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createChunkedBody, createSizedBody } from "../../src/control/edge/answer-body.js";
import { parseAnswerHead } from "../../src/control/edge/answer-head.js";

const chunk = (size: number) => `${size.toString(16)}\r\n${"x\r\n0\r\n\r\n".repeat(size).slice(0, size)}\r\n`;

/** Give `text` in pieces; what was passed on, and whether the end was seen. */
function feed(text: string, sizes: readonly number[]): { readonly passed: string; readonly isEnd: boolean } {
  const body = createChunkedBody();
  const bytes = Buffer.from(text, "latin1");
  let passed = "";
  let isEnd = false;
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % Math.max(1, sizes.length)] ?? bytes.length;
    // One buffer is used again and again, so what is passed on must be taken at once.
    const part = body.take(Buffer.from(bytes.subarray(at, at + size)));
    passed += Buffer.concat(part.pass).toString("latin1");
    isEnd = part.isEnd;
    at += size;
  }
  return { passed, isEnd };
}

describe("a chunked body", () => {
  it("is passed on as it is up to its last chunk, however the network cuts it", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 6 }),
        fc.constantFrom("0", "000"),
        sizes,
        (chunks, last, cuts) => {
          const data = chunks.map(chunk).join("");
          expect(feed(`${data}${last}\r\n\r\n`, cuts)).toEqual({ passed: data, isEnd: true });
          expect(feed(`${data}${last}\r\n`, cuts)).toEqual({ passed: data, isEnd: false });
          expect(feed(data, cuts)).toEqual({ passed: data, isEnd: false });
        },
      ),
    );
  });

  it("is refused when it is malformed, has extensions or trailers, or goes on after its end", () => {
    for (const bad of [
      "x\r\n",
      "\r\n",
      "-1\r\n",
      "0x1\r\n",
      "1;a=b\r\nx\r\n",
      "1\nx\r\n",
      "1 \r\nx\r\n",
      "123456789\r\n",
      "1\r\nxy",
      "1\r\nx\n\n",
      "0\r\nTrailer: x\r\n\r\n",
      "0\r\n\r\nHTTP/1.1 200 OK\r\n",
      "1".repeat(100),
    ]) {
      for (const cuts of [[], [1], [3]]) expect(() => feed(bad, cuts), JSON.stringify(bad)).toThrow(/daemon sent/);
    }
  });
});

it("a body of known size ends with its last byte, and more is refused", () => {
  const body = createSizedBody(3);
  expect(body.take(Buffer.from("ab"))).toMatchObject({ isEnd: false });
  expect(body.take(Buffer.from("c"))).toMatchObject({ isEnd: true });
  expect(() => body.take(Buffer.from("d"))).toThrow();
  expect(createSizedBody(0).take(Buffer.alloc(0))).toEqual({ pass: [], isEnd: true });
});

it("only plain chunking counts as chunked", () => {
  const isChunked = (...fields: string[]) => parseAnswerHead(["HTTP/1.1 200 OK", ...fields].join("\r\n")).isChunked;
  expect(isChunked("Transfer-Encoding: chunked")).toBe(true);
  expect(isChunked("Transfer-Encoding: gzip, chunked")).toBe(false);
  expect(isChunked("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")).toBe(false);
  expect(isChunked("Transfer-Encoding: chunked", "Content-Length: 3")).toBe(false);
  expect(isChunked("Content-Length: 3")).toBe(false);
});
