import type { IncomingMessage } from "node:http";
import { AuthenticationError, InvalidArgumentError } from "../../errors/error-classes.js";
import { isSameSecret } from "../../shared/same-secret-node.js";
import { type FileUrlGrant, signFileUrl } from "../../shared/signed-url.js";
import { assertAccess, presentedToken } from "../auth.js";

/**
 * Let a file transfer pass with the access token or with a signed URL; an open sandbox lets everything pass. A wrong token is not
 * rescued by a signature.
 *
 * @throws {@link AuthenticationError} neither is valid, or the signature expired; {@link InvalidArgumentError} the expiration is not
 * an integer.
 */
export async function assertFileAccess(
  req: IncomingMessage,
  query: URLSearchParams,
  operation: FileUrlGrant["operation"],
  accessToken: string | undefined,
): Promise<void> {
  if (accessToken === undefined) return;
  if (presentedToken(req) !== undefined) {
    assertAccess(req, accessToken);
    return;
  }
  const signature = query.get("signature");
  if (signature === null || signature === "") throw new AuthenticationError("missing signature query parameter");
  const expiresAtSeconds = parseExpiration(query.get("signature_expiration"));
  const grant = { path: query.get("path") ?? "", operation, username: query.get("username") ?? "", expiresAtSeconds };
  if (!isSameSecret(signature, await signFileUrl(grant, accessToken))) throw new AuthenticationError("invalid signature");
  if (expiresAtSeconds !== undefined && expiresAtSeconds < Math.floor(Date.now() / 1000)) {
    throw new AuthenticationError("signature is already expired");
  }
}

function parseExpiration(text: string | null): number | undefined {
  if (text === null) return undefined;
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError(`signature_expiration '${text.slice(0, 32)}' is not an integer of seconds`);
  }
  return value;
}
