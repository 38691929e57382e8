/** Kept apart from every other use of the access token. */
const PURPOSE = "agent-sandbox command server v1";

/**
 * The token of a command server in a sandbox, from the access token of the sandbox.
 *
 * Whoever may use the sandbox can compute it, so nothing has to be handed over; and the program behind the port, which belongs to the
 * guest, never sees the access token itself. HMAC-SHA256, in hexadecimal.
 */
export async function deriveServerToken(accessToken: string): Promise<string> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", encoder.encode(accessToken), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(PURPOSE));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
