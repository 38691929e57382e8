/** What a signed file URL permits. */
export interface FileUrlGrant {
  /** Exactly the `path` query value; not resolved. */
  readonly path: string;
  readonly operation: "read" | "write";
  /** The `username` query value; empty when the URL has none. */
  readonly username: string;
  /** Unix seconds after which the URL is refused; absent for ever. */
  readonly expiresAtSeconds?: number | undefined;
}

/**
 * Sign the grant of a file URL with the access token of the sandbox.
 *
 * `v1_` and the unpadded base64 of SHA-256 over the fields joined by colons: the form that daemons of this wire check.
 */
export async function signFileUrl(grant: FileUrlGrant, accessToken: string): Promise<string> {
  const fields = [grant.path, grant.operation, grant.username, accessToken];
  if (grant.expiresAtSeconds !== undefined) fields.push(String(grant.expiresAtSeconds));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(fields.join(":")));
  return `v1_${btoa(String.fromCharCode(...new Uint8Array(digest))).replace(/=+$/, "")}`;
}
