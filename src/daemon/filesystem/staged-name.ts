import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";

const PREFIX = ".agent-sandbox-upload-";

/** A name beside `path` under which its next content grows until it is complete. */
export function stagedPath(path: string): string {
  return join(dirname(path), PREFIX + randomBytes(9).toString("hex"));
}

/** True for files that only an upload in progress uses; watches do not report them. */
export function isStaged(path: string): boolean {
  return basename(path).startsWith(PREFIX);
}
