import { randomBytes } from "node:crypto";
import { readIfExists, writePrivateFile } from "../private-file.js";

const SECRET = /^[0-9a-f]{64}$/;

/** The platform's own secret, from which all its keys follow; made once, mode 0600. */
export function loadPlatformSecret(file: string): Buffer {
  const kept = readIfExists(file)?.trim();
  if (kept !== undefined && SECRET.test(kept)) return Buffer.from(kept, "hex");
  const fresh = randomBytes(32);
  writePrivateFile(file, `${fresh.toString("hex")}\n`);
  return fresh;
}
