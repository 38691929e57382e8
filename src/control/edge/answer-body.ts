import { ProtocolError } from "../../errors/error-classes.js";

/** What of some bytes belongs to the client. */
export interface BodyPart {
  /** In order; views of what was given, or short texts of our own. */
  readonly pass: readonly Buffer[];
  readonly isEnd: boolean;
}

/** Tells where the body of an answer ends. */
export interface AnswerBody {
  /** @throws {@link ProtocolError} the peer does not keep to HTTP; it may be hostile, so nothing is guessed. */
  take(bytes: Buffer): BodyPart;
}

/** A body of `sizeBytes`. */
export function createSizedBody(sizeBytes: number): AnswerBody {
  let leftBytes = sizeBytes;
  return {
    take(bytes) {
      if (bytes.length > leftBytes) throw new ProtocolError("the daemon sent more than it announced");
      leftBytes -= bytes.length;
      return { pass: bytes.length === 0 ? [] : [bytes], isEnd: leftBytes === 0 };
    },
  };
}

const CR = 0x0d;
const LF = 0x0a;
/** Eight digits are 4 GiB; more, and extensions, nobody sends here. */
const SIZE_LINE = /^([0-9a-fA-F]{1,8})\r\n$/;
const MAX_LINE_BYTES = 10;

/**
 * A chunked body (RFC 9112, section 7.1) that is passed on as it is, chunk sizes included, up to its last chunk, which the response writes
 * itself. Trailers are not passed, so a body that has some is refused.
 */
export function createChunkedBody(): AnswerBody {
  /** Bytes of the chunk that are still to come. */
  let leftBytes = 0;
  /** And of the line end behind it. */
  let leftOfLineEnd = 0;
  /** The line that is being read: a chunk's size, or the empty one at the end. */
  let line = "";
  let isLast = false;
  let isEnd = false;
  return {
    take(bytes) {
      const pass: Buffer[] = [];
      let from = 0;
      let at = 0;
      while (at < bytes.length) {
        if (isEnd) throw new ProtocolError("the daemon sent more than the last chunk");
        if (leftBytes > 0) {
          const size = Math.min(leftBytes, bytes.length - at);
          leftBytes -= size;
          at += size;
          if (leftBytes === 0) leftOfLineEnd = 2;
          continue;
        }
        if (leftOfLineEnd > 0) {
          if (bytes[at] !== (leftOfLineEnd === 2 ? CR : LF)) throw new ProtocolError("the daemon sent a malformed chunk");
          leftOfLineEnd -= 1;
          at += 1;
          continue;
        }
        const lineStart = at;
        const isSplit = line !== "";
        const newline = bytes.indexOf(LF, at);
        at = newline < 0 ? bytes.length : newline + 1;
        line += bytes.toString("latin1", lineStart, Math.min(at, lineStart + MAX_LINE_BYTES + 1));
        if (line.length > MAX_LINE_BYTES) throw new ProtocolError("the daemon sent a malformed chunk");
        if (newline < 0) {
          // Held back until it is known whether this is the last chunk.
          if (lineStart > from) pass.push(bytes.subarray(from, lineStart));
          from = at;
          break;
        }
        const size = isLast ? undefined : SIZE_LINE.exec(line)?.[1];
        if (isLast ? line !== "\r\n" : size === undefined) throw new ProtocolError("the daemon sent a malformed chunk");
        const sizeBytes = size === undefined ? 0 : Number.parseInt(size, 16);
        if (isLast || sizeBytes === 0) {
          if (lineStart > from) pass.push(bytes.subarray(from, lineStart));
          from = at;
          isEnd = isLast;
          isLast = true;
        } else {
          if (isSplit) {
            pass.push(Buffer.from(line, "latin1"));
            from = at;
          }
          leftBytes = sizeBytes;
        }
        line = "";
      }
      if (bytes.length > from) pass.push(bytes.subarray(from));
      return { pass, isEnd };
    },
  };
}
