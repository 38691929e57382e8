import { FailedPreconditionError, InvalidArgumentError } from "../errors/error-classes.js";
import { signFileUrl } from "../shared/signed-url.js";
import { assertText } from "../shared/text-check.js";
import { checkUser } from "./options.js";

/** What a signed file URL permits. */
export interface FileUrlOptions {
  /** User whose home relative paths mean. @defaultValue the template's user */
  readonly user?: string | undefined;
  /** Seconds until the URL is refused. @defaultValue as long as the sandbox lives */
  readonly useSignatureExpiration?: number | undefined;
}

/** Which URL, and of which daemon. */
export interface FileUrlTarget {
  readonly operation: "read" | "write";
  /** Without one the form field names the file. */
  readonly path: string | undefined;
  readonly baseUrl: string;
  /** `undefined` where the sandbox is open, so that its URLs need no signature. */
  readonly accessToken: string | undefined;
}

/**
 * A URL that needs no token beside it.
 *
 * @throws {@link FailedPreconditionError} an expiry for an open sandbox; {@link InvalidArgumentError} the expiry is no number.
 */
export async function toFileUrl({ operation, path, baseUrl, accessToken }: FileUrlTarget, options: FileUrlOptions): Promise<string> {
  if (path !== undefined) assertText("path", path);
  const user = checkUser(options.user);
  const lifeSeconds = options.useSignatureExpiration;
  if (lifeSeconds !== undefined && !Number.isFinite(lifeSeconds)) {
    throw new InvalidArgumentError(`useSignatureExpiration must be a number of seconds, not ${String(lifeSeconds)}`);
  }
  const query = new URLSearchParams({ ...(path !== undefined && { path }), ...(user !== undefined && { username: user }) });
  if (accessToken === undefined) {
    if (lifeSeconds !== undefined) {
      throw new FailedPreconditionError("useSignatureExpiration needs a secured sandbox; the URLs of this one need no signature");
    }
  } else {
    const expiresAtSeconds = lifeSeconds === undefined ? undefined : Math.floor(Date.now() / 1000 + lifeSeconds);
    query.set("signature", await signFileUrl({ path: path ?? "", operation, username: user ?? "", expiresAtSeconds }, accessToken));
    if (expiresAtSeconds !== undefined) query.set("signature_expiration", String(expiresAtSeconds));
  }
  return `${baseUrl}/files?${query}`;
}
