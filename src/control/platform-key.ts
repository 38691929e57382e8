import { randomBytes } from "node:crypto";
import { readIfExists, writePrivateFile } from "./private-file.js";

const KEY = /^e2b_[0-9a-f]{40}$/;

/**
 * The API key of this machine's platform; made once and kept, so that clients survive a restart of the platform.
 *
 * In clear, because the clients of the same user read it; mode 0600 guards it.
 */
export function loadPlatformKey(file: string): string {
  const kept = readIfExists(file)?.trim();
  if (kept !== undefined && KEY.test(kept)) return kept;
  const fresh = `e2b_${randomBytes(20).toString("hex")}`;
  writePrivateFile(file, `${fresh}\n`);
  return fresh;
}
