import { InvalidArgumentError, NotFoundError } from "../errors/error-classes.js";
import type { SecretInfo } from "../protocol/secret-client.js";
import { pickRequest } from "../shared/pick-request.js";
import type { ConnectionOptions } from "../transport/config.js";
import { openSecrets } from "./open-sandbox.js";
import { Paginator } from "./paginator.js";

/** How a secret is stored. */
export interface SecretOptions extends ConnectionOptions {
  /** Labels, at most 32. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** How secrets are listed. */
export interface SecretListOptions extends ConnectionOptions {
  /** Secrets per page, 1 to 100. @defaultValue 100 */
  readonly limit?: number | undefined;
  readonly nextToken?: string | undefined;
}

/**
 * Values that the platform adds to requests of sandboxes and that no sandbox sees: a header rule names one with {@link Secret.fill}.
 *
 * A secret is named by its id or its name. Its value is never given back.
 */
export class Secret {
  private constructor() {}

  /** Store a secret. @throws {@link AlreadyExistsError} the name is taken. */
  static async create(name: string, value: string, options: SecretOptions = {}): Promise<SecretInfo> {
    checkName(name);
    return (await openSecrets(options)).create(name, value, options.metadata, pickRequest(options));
  }

  /** Give it another value; its labels stay when none are given. @throws {@link NotFoundError} there is none. */
  static async update(ref: string, value: string, options: SecretOptions = {}): Promise<SecretInfo> {
    return (await openSecrets(options)).update(ref, value, options.metadata, pickRequest(options));
  }

  /** Describe it. @throws {@link NotFoundError} there is none. */
  static async getInfo(ref: string, options: ConnectionOptions = {}): Promise<SecretInfo> {
    return (await openSecrets(options)).get(ref, pickRequest(options));
  }

  /** Whether it exists. */
  static async exists(ref: string, options: ConnectionOptions = {}): Promise<boolean> {
    try {
      await Secret.getInfo(ref, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** All secrets by name, page by page. */
  static list(options: SecretListOptions = {}): Paginator<SecretInfo> {
    return new Paginator(async (nextToken, call) => {
      const request = { ...pickRequest(options), ...call };
      return (await openSecrets({ ...options, ...request })).list({ limit: options.limit, nextToken }, request);
    }, options.nextToken);
  }

  /** Delete it. False when there was none. */
  static async destroy(ref: string, options: ConnectionOptions = {}): Promise<boolean> {
    return (await openSecrets(options)).delete(ref, pickRequest(options));
  }

  /** The text that stands for the value in a header rule. */
  static fill(name: string): string {
    checkName(name);
    return `\${e2b.secrets.${name}}`;
  }
}

function checkName(name: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(name)) {
    throw new InvalidArgumentError(`the name of a secret has 1 to 128 letters, digits, "_" and "-", got ${JSON.stringify(name)}`);
  }
}
