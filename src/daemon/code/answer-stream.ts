import type { ServerResponse } from "node:http";
import { type Answer, toLine } from "./code-context.js";

/** Silence after which a line says that the execution goes on. */
const KEEPALIVE_MS = 5_000;
/** Output that waits for a slow client until its kernel has to wait too. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Sends the lines of an execution to a client, and lets the kernel wait for one that is slow. */
export class AnswerStream implements Answer {
  readonly #response: ServerResponse;
  readonly #hold: (isHeld: boolean) => void;
  readonly #keepalive: NodeJS.Timeout;
  #isHeld = false;

  constructor(response: ServerResponse, hold: (isHeld: boolean) => void) {
    this.#response = response;
    this.#hold = hold;
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8", "cache-control": "no-store" });
    response.flushHeaders();
    this.#keepalive = setInterval(() => this.write(toLine({ type: "keepalive" })), KEEPALIVE_MS);
    response.once("close", () => clearInterval(this.#keepalive));
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
    this.#response.end();
  }

  #setHeld(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#hold(isHeld);
  }
}
