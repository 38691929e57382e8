import { Transform } from "node:stream";

const NEWLINE = 0x0a;

/**
 * Passes bytes on in pieces that end with a line: the library copies all it holds with each piece it gets, so the time for a long message would grow
 * with the square of its length. What is longer than `maxBytes` passes as it is, for the library to refuse.
 */
export function wholeLines(maxBytes: number): Transform {
  let held: Buffer[] = [];
  let heldBytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      held.push(chunk);
      heldBytes += chunk.length;
      if (heldBytes <= maxBytes && !chunk.includes(NEWLINE)) return done();
      const bytes = Buffer.concat(held, heldBytes);
      const end = heldBytes > maxBytes ? heldBytes : bytes.lastIndexOf(NEWLINE) + 1;
      held = end === heldBytes ? [] : [bytes.subarray(end)];
      heldBytes -= end;
      done(null, bytes.subarray(0, end));
    },
  });
}
