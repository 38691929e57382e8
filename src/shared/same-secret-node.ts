import { createHash, timingSafeEqual } from "node:crypto";

/** Compare secrets in a time that depends on neither content nor length. */
export function isSameSecret(left: string, right: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text, "utf8").digest();
  return timingSafeEqual(digest(left), digest(right));
}
