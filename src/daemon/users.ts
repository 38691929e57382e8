import { AuthenticationError } from "../errors/error-classes.js";
import type { User, UserDatabase } from "./user-database.js";

/** The part of the daemon's state that decides who a request runs as. */
export interface UserContext {
  readonly users: UserDatabase;
  /** Account of requests that name none. */
  readonly defaultUser: string;
}

/**
 * The account that a request runs as: the named one, else the default of the sandbox.
 *
 * @throws {@link AuthenticationError} no account has that name.
 */
export function resolveUser(name: string | undefined, context: UserContext): User {
  const wanted = name || context.defaultUser;
  const user = context.users.findByName(wanted);
  if (user === undefined) {
    throw new AuthenticationError(`user '${printable(wanted)}' does not exist in the sandbox: name one of its /etc/passwd`);
  }
  return user;
}

/**
 * User name of `Authorization: Basic base64("<user>:")` in UTF-8 (RFC 7617); the password is ignored. `undefined` when the
 * header is absent, uses another scheme or names nobody.
 *
 * @throws {@link AuthenticationError} the credentials of the Basic scheme are not readable.
 */
export function requestUser(headers: { get(name: string): string | null }): string | undefined {
  const header = headers.get("authorization");
  const match = header === null ? null : /^basic[ ]+(.*)$/i.exec(header.trim());
  if (match === null) return undefined;
  const encoded = (match[1] ?? "").trim();
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(encoded)) throw new AuthenticationError("the Basic authorization header is not base64");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
  } catch (cause) {
    throw new AuthenticationError("the Basic authorization header is not UTF-8", { cause });
  }
  const colon = text.indexOf(":");
  return (colon < 0 ? text : text.slice(0, colon)) || undefined;
}

function printable(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}
