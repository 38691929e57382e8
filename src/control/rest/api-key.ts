import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { AuthenticationError } from "../../errors/error-classes.js";

/**
 * Check the key of a request: `X-API-Key`, or `Authorization: Bearer`.
 *
 * @throws {@link AuthenticationError} missing or wrong.
 */
export function assertApiKey(headers: IncomingHttpHeaders, apiKey: string): void {
  const presented = headers["x-api-key"] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
  if (typeof presented !== "string" || presented === "") {
    throw new AuthenticationError("the API key is missing: send it as X-API-Key");
  }
  if (!isSameText(presented, apiKey)) {
    throw new AuthenticationError(
      "the API key is wrong: the local platform's own is in its platform.json, option apiKey or AGENT_SANDBOX_API_KEY overrides it",
    );
  }
}

/** Compare in a time that does not depend on where the texts differ; the digests make the lengths equal. */
function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest());
}
