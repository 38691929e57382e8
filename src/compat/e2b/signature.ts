import { AuthenticationError } from "../../index.js";
import { signFileUrl } from "../../shared/signed-url.js";

/** What a signed file URL permits. */
export interface SignatureOpts {
  readonly path: string;
  readonly operation: "read" | "write";
  readonly user: string | undefined;
  /** Seconds from now. @defaultValue for ever */
  readonly expirationInSeconds?: number | undefined;
  readonly envdAccessToken?: string | undefined;
}

/** Sign a file URL. @throws {@link AuthenticationError} there is no access token. */
export async function getSignature(options: SignatureOpts): Promise<{ signature: string; expiration: number | null }> {
  const { path, operation, user, expirationInSeconds, envdAccessToken } = options;
  if (envdAccessToken === undefined) throw new AuthenticationError("getSignature needs the access token of the sandbox");
  const expiration = expirationInSeconds === undefined ? null : Math.floor(Date.now() / 1000) + expirationInSeconds;
  const grant = { path, operation, username: user ?? "", expiresAtSeconds: expiration ?? undefined };
  return { signature: await signFileUrl(grant, envdAccessToken), expiration };
}
