import { FailedPreconditionError } from "../errors/error-classes.js";
import { untilAborted } from "../shared/until-aborted.js";
import type { RequestOptions } from "../transport/config.js";
import type { FcApiKey, FcControlClient } from "./fc-control-client.js";

/** How long keys live. */
export interface FcKeyExchangeOptions {
  /** Milliseconds until a key expires. @defaultValue 3_600_000 */
  readonly keyLifeMs?: number | undefined;
  /** Milliseconds before that at which the next is made; less for keys that live shorter than twice as long. @defaultValue 300_000 */
  readonly refreshAheadMs?: number | undefined;
}

/** With this the names of the keys begin that are made here. */
const NAME_PREFIX = "agent-sandbox-";
const KEY_LIFE_MS = 3_600_000;
const REFRESH_AHEAD_MS = 300_000;

/**
 * Gives short-lived API keys for an access key.
 *
 * Keys are objects of the account which stay after they expired, so each is deleted: when a later one is made after its end, and the last
 * ones when this is disposed of. A process that ends without that leaves a key which expires.
 */
export class FcKeyExchange implements AsyncDisposable {
  readonly #control: FcControlClient;
  readonly #lifeMs: number;
  readonly #aheadMs: number;
  /** Newest last. All but the newest may still be used by requests on their way. */
  #keys: FcApiKey[] = [];
  #newestAge: (() => number) | undefined;
  #pending: Promise<FcApiKey> | undefined;
  #isDisposed = false;

  constructor(control: FcControlClient, options: FcKeyExchangeOptions = {}) {
    this.#control = control;
    this.#lifeMs = options.keyLifeMs ?? KEY_LIFE_MS;
    this.#aheadMs = Math.min(options.refreshAheadMs ?? REFRESH_AHEAD_MS, this.#lifeMs / 2);
  }

  /**
   * A key that is good for a while. Calls at the same time share one exchange, and an abort ends only the wait of its caller.
   *
   * A key that the service refused although its time is not over is replaced, but not one that was made a moment ago: it is refused for another
   * reason, and each exchange leaves a key in the account.
   *
   * @throws {@link FailedPreconditionError} this is disposed of: nobody would delete a key that is made later.
   */
  async get(call: { readonly signal?: AbortSignal | undefined; readonly refused?: string | undefined } = {}): Promise<string> {
    if (this.#isDisposed) {
      throw new FailedPreconditionError("the connection to the FC service is disposed of and gives no more API keys; make another one");
    }
    const newest = this.#keys.at(-1);
    const ageMs = this.#newestAge?.() ?? 0;
    const leftMs = newest === undefined ? 0 : Math.min(newest.expiresAt.getTime() - Date.now(), this.#lifeMs - ageMs);
    const isRefused = newest !== undefined && newest.value === call.refused && ageMs > this.#aheadMs;
    if (newest !== undefined && !isRefused && leftMs > this.#aheadMs) return newest.value;
    this.#pending ??= this.#exchange().finally(() => {
      this.#pending = undefined;
    });
    const exchanged = this.#pending.then(
      (key) => key.value,
      (error: unknown) => {
        // The next call tries again; until its end the old key is as good as before.
        if (newest !== undefined && leftMs > 0) return newest.value;
        throw error;
      },
    );
    return untilAborted(exchanged, call.signal);
  }

  /** Delete the keys that were made. A key that cannot be deleted expires; the first failure is thrown after all were tried. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#pending?.catch(() => undefined);
    const outcomes = await Promise.allSettled(this.#keys.splice(0).map(({ apiKeyId }) => this.#control.deleteApiKey(apiKeyId)));
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  async #exchange(): Promise<FcApiKey> {
    const name = `${NAME_PREFIX}${crypto.randomUUID().slice(0, 8)}`;
    const key = await this.#control.createApiKey({ name, expiresAt: new Date(Date.now() + this.#lifeMs) });
    this.#newestAge = startClock();
    const ended = this.#keys.filter(({ expiresAt }) => expiresAt.getTime() <= Date.now());
    this.#keys = [...this.#keys.filter((known) => !ended.includes(known)), key];
    // They open nothing any more, so a failure to delete one is no failure of the call that needs a key.
    for (const { apiKeyId } of ended) void this.#control.deleteApiKey(apiKeyId).catch(() => undefined);
    return key;
  }
}

/** Milliseconds since the call. The wall clock may be set back, and the other one stands still while a machine sleeps: the larger count is right. */
function startClock(): () => number {
  const startedAt = Date.now();
  const startedAtMonotonic = performance.now();
  return () => Math.max(Date.now() - startedAt, performance.now() - startedAtMonotonic);
}

/** Delete expired keys that processes left behind which ended without disposing of their connection. Resolves to their number. */
export async function deleteExpiredKeys(control: FcControlClient, options: RequestOptions = {}): Promise<number> {
  const expired: string[] = [];
  for await (const { apiKeyId, name, expiresAt } of control.listApiKeys(options)) {
    if (name.startsWith(NAME_PREFIX) && expiresAt !== undefined && expiresAt.getTime() <= Date.now()) expired.push(apiKeyId);
  }
  let count = 0;
  for (const apiKeyId of expired) if (await control.deleteApiKey(apiKeyId, options)) count += 1;
  return count;
}
