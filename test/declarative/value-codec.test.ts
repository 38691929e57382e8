import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeFrame, encodeFrame } from "../../src/declarative/call-frame.js";
import { decodeValue, encodeValue } from "../../src/declarative/value-codec.js";
import { SerializationError } from "../../src/errors/serialization-error.js";

const copy = (value: unknown): unknown => decodeValue(encodeValue(value, "value"));

const typedArray = fc.oneof(
  fc.int8Array(),
  fc.uint8Array(),
  fc.uint8ClampedArray(),
  fc.int16Array(),
  fc.uint16Array(),
  fc.int32Array(),
  fc.uint32Array(),
  fc.float32Array(),
  fc.float64Array(),
  fc.bigInt64Array(),
  fc.bigUint64Array(),
);
const { value: anyData } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(undefined, null, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, true, false),
    fc.double(),
    fc.string({ unit: "binary" }),
    fc.bigInt(),
    fc.date({ noInvalidDate: false }),
    typedArray,
    fc.array(tie("value")),
    fc.sparseArray(tie("value"), { maxNumElements: 4 }),
    fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      tie("value"),
    ),
    fc.array(tie("value")).map((items) => new Set(items)),
    fc.array(fc.tuple(tie("value"), tie("value"))).map((entries) => new Map(entries)),
  ),
}));

describe("values that cross", () => {
  it("come back as they were, whatever data they are", () => {
    fc.assert(
      fc.property(anyData, (value) => {
        expect(copy(value)).toStrictEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("keep references that are shared or cyclic", () => {
    const shared = { n: 1 };
    const value: Record<string, unknown> = { a: shared, b: [shared], map: new Map([[shared, shared]]) };
    value.self = value;
    const back = copy(value) as typeof value & { b: unknown[]; map: Map<unknown, unknown> };
    expect(back.self).toBe(back);
    expect(back.b[0]).toBe(back.a);
    expect(back.map.get(back.a)).toBe(back.a);
  });

  it("keep class, name, message, stack, cause and properties of errors, also of one that holds itself", () => {
    class HttpError extends RangeError {
      override readonly name = "HttpError";
      constructor(
        message: string,
        readonly status: number,
      ) {
        super(message, { cause: new TypeError("inner") });
      }
    }
    const error = Object.assign(new HttpError("outer", 404), { self: undefined as unknown });
    error.self = error;
    const [back] = copy([error]) as [HttpError & { self: unknown }];
    expect(back).toBeInstanceOf(RangeError);
    expect(back).toMatchObject({ name: "HttpError", message: "outer", status: 404, stack: error.stack });
    expect(back.cause).toBeInstanceOf(TypeError);
    expect(back.self).toBe(back);
    expect(Object.keys(back).sort()).toEqual(["self", "status"]);
    const many = copy(new AggregateError([new Error("a"), new SyntaxError("b")], "all")) as AggregateError;
    expect(many).toBeInstanceOf(AggregateError);
    expect(many.errors[1]).toBeInstanceOf(SyntaxError);
  });

  it("a view takes only the bytes that it shows", () => {
    const whole = new TextEncoder().encode("secret|shown|secret");
    const view = whole.subarray(7, 12);
    expect(copy(view)).toStrictEqual(new TextEncoder().encode("shown"));
    expect(encodeValue({ view, again: Buffer.from("shown") }, "value")).not.toContain(Buffer.from("secret").toString("base64").slice(0, 6));
    expect(copy(new Float64Array([1, 2, 3]).subarray(1))).toStrictEqual(new Float64Array([2, 3]));
  });
});

describe("values that are no data", () => {
  class Point {
    x = 1;
  }
  it.each([
    [{ rows: [1, { handler: () => 1 }] }, "value.rows[1].handler", "a function"],
    [[Symbol("s")], "value[0]", "a symbol"],
    [{ p: Promise.resolve(1) }, "value.p", "a promise"],
    [new Map([["k", new Point()]]), 'value.get("k")', "an instance of Point"],
    [{ "a b": { [Symbol("s")]: 1 } }, 'value["a b"]', "an object with symbols as keys"],
  ])("are refused with the place: %#", (value, path, found) => {
    const error = (() => {
      try {
        encodeValue(value, "value");
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(SerializationError);
    expect(error).toMatchObject({ path, found, reason: "invalid_argument" });
  });

  it("as a result they become a frame that says so, and as a thrown error what matters of it remains", () => {
    const result = decodeFrame(encodeFrame({ type: "returned", value: { on: [() => 1] } }), "f");
    expect(result).toEqual({ type: "unencodable", path: "result.on[0]", found: "a function" });
    const socketError = Object.assign(new TypeError("refused"), { socket: () => 1 });
    const thrown = decodeFrame(encodeFrame({ type: "threw", error: socketError }), "f");
    expect(thrown).toMatchObject({ type: "threw", error: { message: "refused", name: "TypeError" } });
  });
});

describe("what a hostile guest left as its result", () => {
  it.each([
    ["nothing", ""],
    ["no JSON", "{"],
    ["JSON of another form", '{"type":"returned"}'],
    ["a value that is no frame", encodeValue({ type: "other" }, "v")],
    ["a reference to nothing", "[[7]]"],
    ["an endless error", '[["Error",0]]'],
    ["a key that reaches the prototype", '[{"type":1,"value":2},"returned",{"__proto__":3},{"polluted":4},true]'],
    ["a prototype through an object without one", '[{"type":1,"value":2},"returned",["null","__proto__",3],{"polluted":4},true]'],
    ["an unknown kind", '[{"type":1,"value":2},"returned",["Function","return process"]]'],
    ["a number whose reading would take for ever", `[{"type":1,"value":2},"returned",["BigInt","${"9".repeat(200_000)}"]]`],
    [
      "an error whose message is no text",
      '[{"type":1,"error":2},"threw",["Error",3],{"(class)":4,"message":5,"stack":6,"name":6},"constructor",{"toString":6},1]',
    ],
    ["nesting without end", `[{"type":1,"value":2},"returned",${Array.from({ length: 200_000 }, (_, i) => `[${i + 3}]`).join(",")},1]`],
  ])("is refused: %s", (_title, text) => {
    expect(() => decodeFrame(text, "f")).toThrow(/result of f/);
    expect((Object.prototype as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("is read without harm, whatever bytes it is", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        try {
          decodeFrame(text, "f");
        } catch (error) {
          expect(error).toMatchObject({ name: "ProtocolError" });
        }
      }),
    );
  });
});
