import type { ServerResponse } from "node:http";
import { type Answer, toLine } from "./code-context.js";

/** Silence after which a line says that the execution goes on. */
const KEEPALIVE_MS = 5_000;
/** Output that waits for a slow client until its kernel has to wait too. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How long a client may take nothing while others wait for the kernel. */
const MAX_STALL_MS = 10_000;

/** The context, as far as its reader needs it. */
export interface AnswerSource {
  hold(isHeld: boolean): void;
  /** Other executions wait for this one. */
  readonly isAwaited: boolean;
}

/** Sends the lines of an execution to a client, and lets the kernel wait for one that is slow. */
export class AnswerStream implements Answer {
  readonly #response: ServerResponse;
  readonly #source: AnswerSource;
  readonly #keepalive: NodeJS.Timeout;
  #isHeld = false;
  #stall: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, source: AnswerSource) {
    this.#response = response;
    this.#source = source;
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8", "cache-control": "no-store" });
    response.flushHeaders();
    this.#keepalive = setInterval(() => this.write(toLine({ type: "keepalive" })), KEEPALIVE_MS);
    response.once("close", () => {
      clearInterval(this.#keepalive);
      this.#setHeld(false);
    });
    response.on("drain", () => this.#setHeld(false));
  }

  write(line: Buffer): void {
    // Who left gets nothing; the kernel is interrupted by who sees it.
    if (this.#response.destroyed) return;
    this.#keepalive.refresh();
    this.#response.write(line);
    if (this.#response.writableLength > MAX_WAITING_BYTES) this.#setHeld(true);
  }

  end(): void {
    clearInterval(this.#keepalive);
    // The kernel is for the next execution now, whatever this client still has to take.
    this.#setHeld(false);
    this.#response.end();
  }

  #setHeld(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#source.hold(isHeld);
    clearInterval(this.#stall);
    if (isHeld) this.#stall = setInterval(() => this.#source.isAwaited && this.#response.destroy(), MAX_STALL_MS);
  }
}
