import { createHash, randomBytes } from "node:crypto";
import { AuthenticationError, PermissionDeniedError, RateLimitError } from "../../errors/error-classes.js";
import type { TerminalStart } from "./frames.js";

/** What a ticket opens. */
export type Grant =
  | { readonly kind: "attach"; readonly pid: number }
  /** `traceVars` tell the program the trace of the request that asked for it. */
  | { readonly kind: "start"; readonly start: TerminalStart; readonly traceVars: Readonly<Record<string, string>> };

export interface NewTicket {
  readonly grant: Grant;
  /** The only origin that may use it; `undefined` any. */
  readonly origin: string | undefined;
  readonly lifeMs: number;
  /** The sandbox's access token at this moment; the ticket dies with it. */
  readonly accessToken: string | undefined;
}

interface Entry extends NewTicket {
  readonly expiresAtMs: number;
}

export const MAX_TICKET_LIFE_MS = 60_000;
const MAX_TICKETS = 1_000;
const TICKET_BYTES = 32;

/** Tickets that were given out and not used yet. They live in this daemon only, so none opens another sandbox. */
export class TicketStore {
  /** By hash, so that a look-up takes the same time however much of a guess is right. */
  readonly #entries = new Map<string, Entry>();
  readonly #nowMs: () => number;

  /** @param nowMs a clock that is never set back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /**
   * @throws {@link RateLimitError} too many wait for their use.
   */
  issue(ticket: NewTicket): string {
    this.#dropExpired();
    if (this.#entries.size >= MAX_TICKETS) {
      throw new RateLimitError(`${MAX_TICKETS} tickets wait for their use already: use them, or wait until they expire`);
    }
    const secret = randomBytes(TICKET_BYTES).toString("base64url");
    this.#entries.set(hashOf(secret), { ...ticket, expiresAtMs: this.#nowMs() + ticket.lifeMs });
    return secret;
  }

  /**
   * Use a ticket up, whether or not it fits.
   *
   * @throws {@link AuthenticationError} it is unknown, was used, or is too old; {@link PermissionDeniedError} it is for another origin.
   */
  redeem(secret: string, origin: string | undefined, accessToken: string | undefined): Grant {
    const key = hashOf(secret);
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined || entry.expiresAtMs <= this.#nowMs() || entry.accessToken !== accessToken) {
      throw new AuthenticationError("the ticket is unknown, was used already or expired: ask for a new one");
    }
    if (entry.origin !== undefined && entry.origin !== origin) {
      throw new PermissionDeniedError("the ticket is for pages of another origin");
    }
    return entry.grant;
  }

  #dropExpired(): void {
    const now = this.#nowMs();
    for (const [key, entry] of this.#entries) if (entry.expiresAtMs <= now) this.#entries.delete(key);
  }
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
