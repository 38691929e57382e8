import { InvalidArgumentError } from "../../errors/error-classes.js";

const SINGLE_BYTE = /^(windows-|iso-8859-|koi8-|ibm866$|macintosh$|x-mac-cyrillic$)/;

/** A decoder for an encoding by any of its names. A byte order mark is text like any other. @throws {@link InvalidArgumentError} no such encoding. */
export function createTextDecoder(encoding = "utf-8"): TextDecoder {
  try {
    return new TextDecoder(encoding, { ignoreBOM: true });
  } catch (cause) {
    throw new InvalidArgumentError(`there is no text encoding ${JSON.stringify(encoding)}; use one such as "utf-8"`, { cause });
  }
}

/**
 * The bytes of a text. What a platform can decode it can encode only as UTF-8, so the others are done here.
 *
 * @throws {@link InvalidArgumentError} no such encoding, one of several bytes per character other than UTF-8 and UTF-16, or a character that
 * it has not.
 */
export function encodeText(text: string, encoding = "utf-8"): Uint8Array {
  const { encoding: name } = createTextDecoder(encoding);
  if (name === "utf-8") return new TextEncoder().encode(text);
  if (name === "utf-16le" || name === "utf-16be") return encodeUtf16(text, name === "utf-16le");
  if (SINGLE_BYTE.test(name)) return encodeSingleBytes(text, name);
  throw new InvalidArgumentError(`text cannot be written as ${name}; encode it and write its bytes`);
}

function encodeUtf16(text: string, isLittleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let at = 0; at < text.length; at++) view.setUint16(at * 2, text.charCodeAt(at), isLittleEndian);
  return new Uint8Array(view.buffer);
}

function encodeSingleBytes(text: string, encoding: string): Uint8Array {
  const decoder = new TextDecoder(encoding);
  const byteOf = new Map(Array.from({ length: 256 }, (_, byte) => [decoder.decode(Uint8Array.of(byte)), byte]));
  return Uint8Array.from(Array.from(text), (character) => {
    const byte = byteOf.get(character);
    if (byte === undefined || character === "\uFFFD") {
      throw new InvalidArgumentError(`${encoding} has no character ${JSON.stringify(character)}; write the text as utf-8`);
    }
    return byte;
  });
}
