import { ConnectionError } from "../errors/error-classes.js";
import { pause } from "../shared/pause.js";
import type { HttpClient, HttpRequest, HttpResponse } from "./http.js";

/** When to send a request again. */
export interface RetryPolicy {
  /** Most repetitions. */
  readonly retries: number;
  /** Statuses after which an idempotent request is sent again. */
  readonly statuses: readonly number[];
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
/** Bound of all waits together where the request itself has no time limit. */
const WAIT_BUDGET_MS = 60_000;
const MAX_RETRY_AFTER_SECONDS = 2_147_483;

/** Policy statuses of the control plane, where each of these passes. */
export const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];
/** Policy statuses of a daemon: none, since 502 says there that the sandbox is gone for good. */
export const NO_STATUSES: readonly number[] = [];

/**
 * Send one request until it has a final answer.
 *
 * 429 with a whole-second `Retry-After` is waited for and repeated whatever the method is, since such a request was not
 * carried out. Lost connections and the policy's statuses repeat idempotent requests only, after a jittered pause. A wait that would
 * pass `endsAtMs` is not begun.
 */
export async function sendWithRetry(
  send: HttpClient,
  request: HttpRequest,
  policy: RetryPolicy,
  endsAtMs: number | undefined,
): Promise<HttpResponse> {
  const waitUntilMs = endsAtMs ?? performance.now() + WAIT_BUDGET_MS;
  for (let attempt = 0; ; attempt += 1) {
    let response: HttpResponse | undefined;
    let failure: unknown;
    try {
      response = await send(request);
    } catch (error) {
      failure = error;
    }
    const pauseMs = attempt < policy.retries ? pauseBeforeNext(request, response, failure, policy, attempt) : undefined;
    if (pauseMs !== undefined && performance.now() + pauseMs < waitUntilMs) {
      await response?.bytes().catch(() => {});
      await pause(pauseMs, request.signal);
      continue;
    }
    if (response === undefined) throw failure;
    return response;
  }
}

function pauseBeforeNext(
  request: HttpRequest,
  response: HttpResponse | undefined,
  failure: unknown,
  policy: RetryPolicy,
  attempt: number,
): number | undefined {
  if (response?.status === 429) return parseRetryAfterMs(response.header("retry-after"));
  if (!request.isIdempotent) return undefined;
  const isTransient = response === undefined ? failure instanceof ConnectionError : policy.statuses.includes(response.status);
  if (!isTransient) return undefined;
  const backoffMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return parseRetryAfterMs(response?.header("retry-after")) ?? backoffMs * (0.5 + Math.random() / 2);
}

/** Whole seconds in milliseconds; dates and odd values are `undefined`. */
export function parseRetryAfterMs(value: string | undefined): number | undefined {
  if (value === undefined || !/^\d+$/.test(value)) return undefined;
  const seconds = Number(value);
  return seconds <= MAX_RETRY_AFTER_SECONDS ? seconds * 1000 : undefined;
}
