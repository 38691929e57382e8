import fc from "fast-check";
import { expect, it } from "vitest";
import { LightHeaders } from "../../src/daemon/light-headers.js";

const name = fc.constantFrom("Content-Type", "content-type", "X-A", "x-a", "Set-Cookie", "Grpc-Status", "accept");
const value = fc.string({ unit: fc.constantFrom("a", "b", " ", "1", ",", ";"), maxLength: 6 });
const step = fc.oneof(
  fc.tuple(fc.constant("append" as const), name, value),
  fc.tuple(fc.constant("set" as const), name, value),
  fc.tuple(fc.constant("delete" as const), name, value),
);

it("LightHeaders tells the same as Headers after the same calls", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), fc.array(step), (initial, steps) => {
      const light = new LightHeaders(initial);
      const standard = new Headers(initial);
      for (const [method, key, text] of steps) {
        light[method](key, text);
        standard[method](key, text);
      }
      expect([...light]).toEqual([...standard]);
      expect([...new LightHeaders(light)]).toEqual([...new Headers([...standard])]);
      expect([...light.keys()]).toEqual([...standard.keys()]);
      expect([...light.values()]).toEqual([...standard.values()]);
      const seen: [string, string][] = [];
      light.forEach((text, key) => void seen.push([key, text]));
      expect(seen).toEqual([...standard]);
      for (const key of ["CONTENT-TYPE", "x-a", "missing"]) {
        expect(light.get(key)).toBe(standard.get(key));
        expect(light.has(key)).toBe(standard.has(key));
      }
      expect(light.getSetCookie()).toEqual(standard.getSetCookie());
    }),
  );
});

it("LightHeaders is built from a record as Headers is", () => {
  expect([...new LightHeaders({ B: "2", a: "1" })]).toEqual([...new Headers({ B: "2", a: "1" })]);
});
