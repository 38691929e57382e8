import type { HttpResponse } from "./http.js";

/** One event of a stream. */
export interface ServerSentEvent {
  readonly id: string;
  /** Name of the event; `message` when it has none. */
  readonly event: string;
  readonly data: string;
}

/** The most that one event may be long, in characters. */
const MAX_EVENT_LENGTH = 1024 * 1024;

/**
 * Read the events of a body (WHATWG HTML, "Server-sent events"); an event that is cut off by the end is left out.
 *
 * @throws `RangeError` an event has more than `maxEventLength` characters.
 */
export async function* readServerSentEvents(
  response: Pick<HttpResponse, "body">,
  maxEventLength: number = MAX_EVENT_LENGTH,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let heldReturn = "";
  let id = "";
  let event = "";
  let data: string[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    const text = heldReturn + decoder.decode(chunk, { stream: true });
    // The line end of two characters may be cut in the middle.
    heldReturn = text.endsWith("\r") ? "\r" : "";
    const lines = text.slice(0, text.length - heldReturn.length).split(/\r\n|\n|\r/);
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { id, event: event || "message", data: data.join("\n") };
        data = [];
        event = "";
        length = 0;
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id" && !value.includes("\0")) id = value;
      if (field === "event") event = value;
      if (field !== "data") continue;
      data.push(value);
      length += value.length;
      if (length > maxEventLength) break;
    }
    if (length + rest.length > maxEventLength) throw new RangeError("an event of the stream is too long");
  }
}
