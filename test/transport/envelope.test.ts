import fc from "fast-check";
import { expect, it } from "vitest";
import { EnvelopeReader, encodeEnvelope } from "../../src/transport/envelope.js";

it("messages are the same however the bytes are cut", () => {
  const messages = fc.array(fc.record({ flags: fc.integer({ min: 0, max: 255 }), data: fc.uint8Array({ maxLength: 300 }) }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(({ flags, data }) => encodeEnvelope(flags, data)));
      const reader = new EnvelopeReader();
      const received: { flags: number; data: number[] }[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = cuts[turn % cuts.length] ?? 1;
        for (const { flags, data } of reader.push(bytes.subarray(at, at + size))) received.push({ flags, data: [...data] });
        at += size;
      }
      expect(received).toEqual(sent.map(({ flags, data }) => ({ flags, data: [...data] })));
      expect(reader.isInsideMessage).toBe(false);
    }),
  );
});

it("a cut message yields nothing and is known to be unfinished", () => {
  const reader = new EnvelopeReader();
  expect([...reader.push(encodeEnvelope(0, new Uint8Array(10)).subarray(0, 14))]).toEqual([]);
  expect(reader.isInsideMessage).toBe(true);
});
