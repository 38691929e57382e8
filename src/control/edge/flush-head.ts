import type { ServerResponse } from "node:http";

const NOTHING = Buffer.alloc(0);

/**
 * Send the head of an answer ahead of its body, byte for byte.
 *
 * `flushHeaders` writes it as UTF-8, so that each byte above 127 of a header becomes two.
 */
export function flushHead(response: ServerResponse): void {
  response.write(NOTHING);
}
