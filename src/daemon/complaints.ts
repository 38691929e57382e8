import type { Duplex } from "node:stream";
import { inspect } from "node:util";

/** Host and port of the CONNECT by which the platform follows complaints; 0 is no port, so it is never a tunnel. */
export const COMPLAINTS_TARGET = "complaints:0";

/** The newest that are kept for a platform which comes later. */
const MAX_KEPT = 20;

/** What goes wrong in the daemon itself: it is written to standard error, and told to the platform, which has it in the logs of the sandbox. */
export class Complaints {
  readonly #kept: string[] = [];
  #follower: Duplex | undefined;

  /** @param cause anything thrown; its stack is told on the same line */
  add(text: string, cause?: unknown): void {
    const what = cause === undefined ? text : `${text}: ${inspect(cause)}`;
    console.error(what);
    const line = `${what.replace(/\s*\n\s*/g, " | ")}\n`;
    if (this.#follower !== undefined) {
      this.#follower.write(line);
      return;
    }
    this.#kept.push(line);
    if (this.#kept.length > MAX_KEPT) this.#kept.shift();
  }

  /** Let nobody follow any more. */
  close(): void {
    this.#follower?.destroy();
  }

  /** Tell this connection, in place of an earlier one, what is kept and what comes. */
  follow(connection: Duplex): void {
    this.#follower?.destroy();
    this.#follower = connection;
    connection.on("error", () => connection.destroy());
    connection.once("close", () => {
      if (this.#follower === connection) this.#follower = undefined;
    });
    // Without a reader the end of the stream is never seen.
    connection.resume();
    connection.write(`HTTP/1.1 200 Connection Established\r\n\r\n${this.#kept.splice(0).join("")}`);
  }
}
