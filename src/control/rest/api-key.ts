import type { IncomingHttpHeaders } from "node:http";
import { AuthenticationError } from "../../errors/error-classes.js";
import { isSameSecret } from "../../shared/same-secret-node.js";

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
  if (!isSameSecret(presented, apiKey)) {
    throw new AuthenticationError(
      "the API key is wrong: the local platform's own is in its platform.json, option apiKey or AGENT_SANDBOX_API_KEY overrides it",
    );
  }
}
