import { randomBytes } from "node:crypto";
import { InvalidArgumentError } from "../errors/error-classes.js";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID = /^[a-z0-9]+$/;
/** Longest id that still fits a DNS label together with the longest port (`65535-<id>`). */
const MAX_LENGTH = 57;

/** Deprecated field of the wire that clients require; constant, as one platform is one client of itself. */
export const CLIENT_ID = "local";

/** A fresh sandbox id: `i` and 20 characters of `[a-z0-9]`, usable as a part of a DNS label. */
export function createSandboxId(): string {
  return `i${randomText(20)}`;
}

/**
 * Read a sandbox id from outside; `<id>-<clientId>`, the form of older clients, is cut at the dash.
 *
 * @throws {@link InvalidArgumentError} not an id.
 */
export function parseSandboxId(text: string): string {
  const id = toSandboxId(text);
  if (id === undefined) throw new InvalidArgumentError("Invalid sandbox ID");
  return id;
}

/** {@link parseSandboxId} that answers `undefined` instead of throwing. */
export function toSandboxId(text: string): string | undefined {
  const [id = "", clientId, ...more] = text.split("-");
  if (!ID.test(id) || id.length > MAX_LENGTH || more.length > 0) return undefined;
  return clientId === undefined || ID.test(clientId) ? id : undefined;
}

/** Random characters of `[a-z0-9]`, each equally likely. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      // 252 is the largest multiple of 36 in a byte; the rest would favour the first letters.
      if (byte < 252 && text.length < length) text += ALPHABET[byte % 36];
    }
  }
  return text;
}
