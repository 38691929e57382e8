import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { assertAccess } from "../daemon/auth.js";
import { PermissionDeniedError } from "../errors/error-classes.js";
import type { ServerConfig } from "./server-config.js";

/** Who may call: the checks that come before and behind the choice of the route. */
export class RequestGuard {
  readonly #config: Pick<ServerConfig, "token" | "allowedHosts" | "allowedOrigins" | "sandboxId">;

  constructor(config: Pick<ServerConfig, "token" | "allowedHosts" | "allowedOrigins" | "sandboxId">) {
    this.#config = config;
  }

  /**
   * Keep out pages: those of other origins, and those that made their own name lead to this machine.
   *
   * @throws {@link PermissionDeniedError} naming the host or origin.
   */
  assertCaller(req: IncomingMessage): void {
    const { origin } = req.headers;
    const isAllowedOrigin = origin !== undefined && this.#config.allowedOrigins.includes(origin);
    if (origin !== undefined && !isAllowedOrigin) {
      throw new PermissionDeniedError(`pages of '${origin.slice(0, 200)}' may not call this server: name the origin in allowedOrigins`);
    }
    // A page's request without Origin, as for an image.
    const site = req.headers["sec-fetch-site"];
    if (!isAllowedOrigin && (site === "cross-site" || site === "same-site"))
      throw new PermissionDeniedError("pages may not call this server");
    // Whoever has the token is no page that came by chance.
    if (this.#config.token !== undefined) return;
    const host = nameOf(req.headers.host);
    if (host === undefined || !this.#isOwnName(host)) {
      throw new PermissionDeniedError(
        `the host '${(req.headers.host ?? "").slice(0, 200)}' is not known here: name it in allowedHosts, or give the server a token`,
      );
    }
  }

  /** @throws AuthenticationError: the token is missing or wrong. */
  assertToken(req: IncomingMessage): void {
    assertAccess(req, this.#config.token);
  }

  /** Let pages of allowed origins read the answer. */
  allowOrigin(req: IncomingMessage, res: ServerResponse): void {
    const { origin } = req.headers;
    if (origin === undefined || !this.#config.allowedOrigins.includes(origin)) return;
    res.setHeader("access-control-allow-origin", origin);
    res.setHeader("vary", "Origin");
  }

  #isOwnName(host: string): boolean {
    const { allowedHosts, sandboxId } = this.#config;
    if (isIP(host) !== 0 || host === "localhost" || host.endsWith(".localhost") || allowedHosts.includes(host)) return true;
    // `<port>-<sandbox id>.<domain>`: nobody who does not know the id can make such a name.
    return sandboxId !== undefined && new RegExp(`^\\d{1,5}-${escapePattern(sandboxId.toLowerCase())}\\.`).test(host);
  }
}

/** Lower-case name or address of a Host header, without port, brackets and the root's dot. */
function nameOf(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:@/\s[\]]+))(?::\d{1,5})?$/i.exec(header ?? "");
  return (match?.[1] ?? match?.[2]?.replace(/\.$/, ""))?.toLowerCase();
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
