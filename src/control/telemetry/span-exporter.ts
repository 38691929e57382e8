import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { hostname } from "node:os";
import { messageOf } from "../../shared/message-of.js";
import { VERSION } from "../../shared/version.js";
import type { Logger } from "../logger.js";
import type { OtlpSettings } from "./otlp-settings.js";
import { type ServerSpan, toOtlpBody } from "./server-span.js";

/** Spans that wait; those that come when it is full are dropped and counted. */
const MAX_WAITING = 2_048;
const MAX_BATCH = 512;
const PERIOD_MS = 1_000;
/** Time for the last spans when the platform stops. */
const LAST_EXPORT_MS = 2_000;
const LOG_PERIOD_MS = 60_000;

/** Sends spans in batches over OTLP/HTTP, one at a time. Nobody ever waits for it, and it holds a bounded number. */
export class SpanExporter {
  readonly #settings: OtlpSettings;
  readonly #logger: Logger;
  #waiting: ServerSpan[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #droppedCount = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Ends what is under way when the platform has no more time. */
  readonly #end = new AbortController();

  constructor(settings: OtlpSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Spans that were never delivered. */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  add(span: ServerSpan): void {
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) {
      this.#droppedCount += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= MAX_BATCH) this.#sendNext();
    else this.#timer ??= setTimeout(() => this.#sendNext(), PERIOD_MS).unref();
  }

  /** Send what waits, for two seconds at most. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#end.abort(), LAST_EXPORT_MS);
    await this.#sending;
    while (this.#waiting.length > 0 && !this.#end.signal.aborted) await this.#send();
    clearTimeout(timer);
    this.#droppedCount += this.#waiting.length;
    this.#waiting = [];
  }

  #sendNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
      if (!this.#isClosed && this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#sendNext(), PERIOD_MS).unref();
    });
  }

  /** Never rejects. A batch that is not taken is dropped: it must not stand in the way of the next. */
  async #send(): Promise<void> {
    const batch = this.#waiting.splice(0, MAX_BATCH);
    const resource = {
      "service.name": this.#settings.serviceName,
      "service.version": VERSION,
      "host.name": hostname(),
      "process.pid": process.pid,
    };
    try {
      await post(this.#settings, toOtlpBody(batch, resource, VERSION), this.#end.signal);
    } catch (error) {
      this.#droppedCount += batch.length;
      this.#complain(messageOf(error));
    }
  }

  #complain(message: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < LOG_PERIOD_MS) return;
    this.#loggedAtMs = nowMs;
    this.#logger.warn("telemetry.export_failed", { message, droppedCount: this.#droppedCount });
  }
}

/** The error says what happened and not where: the URL and the headers may hold credentials. */
function post({ tracesUrl, headers, timeoutMs }: OtlpSettings, body: string, end: AbortSignal): Promise<void> {
  const request = tracesUrl.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(tracesUrl, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      signal: AbortSignal.any([end, AbortSignal.timeout(timeoutMs)]),
      // A kept connection would be one more thing to close.
      agent: false,
    });
    sent.on("response", (answer) => {
      answer.on("error", () => {}).resume();
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) answer.once("close", resolve);
      else reject(new Error(`the collector answered with status ${status}`));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isLate = error.name === "TimeoutError" || error.name === "AbortError";
      reject(new Error(isLate ? "the collector did not answer in time" : `the collector cannot be reached (${error.code ?? error.name})`));
    });
    sent.end(body);
  });
}
