import { expect, expectTypeOf, it } from "vitest";
import * as declarative from "../../src/declarative/index.js";

it("the entry has the names of the guide", () => {
  expect(Object.keys(declarative).sort()).toEqual(["SerializationError", "python", "remote", "sandbox"]);
});

it("types follow from the function", () => {
  const double = declarative.remote(async (n: number, by?: number) => n * (by ?? 2));
  expectTypeOf(double).parameters.toEqualTypeOf<[n: number, by?: number | undefined]>();
  expectTypeOf(double).returns.resolves.toEqualTypeOf<number>();
  const upper = declarative.remote((text: string) => text.toUpperCase());
  expectTypeOf(upper).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf(upper.map).parameter(0).toEqualTypeOf<Iterable<string> | AsyncIterable<string>>();
  expectTypeOf(upper.map).returns.toEqualTypeOf<Promise<string[]>>();
  expectTypeOf(upper.with({})).returns.toEqualTypeOf<Promise<string>>();
  const add = declarative.python`def add(a, b): return a + b`.function<[number, number], number>("add");
  expectTypeOf(add).parameters.toEqualTypeOf<[number, number]>();
});
