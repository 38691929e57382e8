import { Paginator, Secret as SecretBase, type SecretInfo, UnimplementedError } from "../../index.js";
import { type ConnectionOpts, withBound } from "./connection.js";
import { inFamily, SecretError, SecretNotFoundError } from "./errors.js";
import type { SandboxIamToken } from "./sandbox-options.js";

export interface SecretCreateOpts extends ConnectionOpts {
  /** Labels, at most 32. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}
export interface SecretUpdateOpts extends SecretCreateOpts {}
export interface SecretListOpts extends ConnectionOpts {
  /** Secrets per page, 1 to 100. @defaultValue 100 */
  readonly limit?: number | undefined;
  readonly nextToken?: string | undefined;
}

const FAMILY = { other: SecretError, byReason: { not_found: SecretNotFoundError } };

/** A list of secrets, loaded page by page. */
export class SecretPaginator extends Paginator<SecretInfo> {
  constructor(options: SecretListOpts = {}) {
    const list = SecretBase.list(withBound(undefined, options));
    super(async (_, call) => {
      const items = await inFamily(FAMILY, () => list.nextItems(call));
      return { items, nextToken: list.nextToken };
    }, options.nextToken);
  }
}

/** Our {@link SecretBase} with the options and errors that programs for `e2b` know. */
export class Secret {
  /** Options under those of each call: what a class of {@link E2B} is bound to. */
  static readonly boundOpts: ConnectionOpts | undefined = undefined;

  /** Store a secret. @throws {@link SecretError} the name is taken or malformed. */
  static create(name: string, value: string, options?: SecretCreateOpts): Promise<SecretInfo> {
    return inFamily(FAMILY, () => SecretBase.create(name, value, withBound(this, options)));
  }

  /** Replace its value. @throws {@link SecretNotFoundError} there is none. */
  static update(secret: string, value: string, options?: SecretUpdateOpts): Promise<SecretInfo> {
    return inFamily(FAMILY, () => SecretBase.update(secret, value, withBound(this, options)));
  }

  /** What is known of it; never its value. @throws {@link SecretNotFoundError} there is none. */
  static getInfo(secret: string, options?: ConnectionOpts): Promise<SecretInfo> {
    return inFamily(FAMILY, () => SecretBase.getInfo(secret, withBound(this, options)));
  }

  /** All secrets, page by page. */
  static list(options?: SecretListOpts): SecretPaginator {
    return new SecretPaginator(withBound(this, options));
  }

  /** Whether there is one of this name or id. */
  static exists(secret: string, options?: ConnectionOpts): Promise<boolean> {
    return inFamily(FAMILY, () => SecretBase.exists(secret, withBound(this, options)));
  }

  /** Delete it; false when there was none. */
  static destroy(secret: string, options?: ConnectionOpts): Promise<boolean> {
    return inFamily(FAMILY, () => SecretBase.destroy(secret, withBound(this, options)));
  }

  /** What stands for its value in the headers of a network rule. It is filled in outside of the sandbox. */
  static fill(secret: string): string {
    return SecretBase.fill(secret);
  }

  /** @throws {@link UnimplementedError} always: there are no workload tokens. */
  static iamToken(_token: SandboxIamToken): SandboxIamToken {
    throw new UnimplementedError("no server that this package knows issues workload tokens, so Secret.iamToken cannot be used");
  }
}
