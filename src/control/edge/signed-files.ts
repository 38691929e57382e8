import { isSameSecret } from "../../shared/same-secret-node.js";
import { signFileUrl } from "../../shared/signed-url.js";
import type { LiveSandbox } from "../sandbox-table.js";

/**
 * Find the sandbox whose token made the signature of a file URL.
 *
 * Such URLs are given to programs that send no routing headers; on the shared host the signature is all that names the sandbox. The
 * daemon checks it again, with its expiration.
 */
export async function findSignedSandbox(
  method: string,
  target: string,
  sandboxes: readonly LiveSandbox[],
): Promise<LiveSandbox | undefined> {
  const [path, search = ""] = splitOnce(target, "?");
  const query = new URLSearchParams(search);
  const signature = query.get("signature");
  const operation = { GET: "read", HEAD: "read", POST: "write" }[method] as "read" | "write" | undefined;
  if (path !== "/files" || signature === null || operation === undefined) return undefined;
  const expiration = query.get("signature_expiration");
  const grant = {
    path: query.get("path") ?? "",
    operation,
    username: query.get("username") ?? "",
    expiresAtSeconds: expiration === null ? undefined : Number(expiration),
  };
  for (const sandbox of sandboxes) {
    if (sandbox.accessToken !== undefined && isSameSecret(await signFileUrl(grant, sandbox.accessToken), signature)) return sandbox;
  }
  return undefined;
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
