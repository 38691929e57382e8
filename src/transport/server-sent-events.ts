import type { HttpResponse } from "./http.js";

/** One event of a stream. */
export interface ServerSentEvent {
  readonly id: string;
  readonly data: string;
}

/** The most that one event may be long. */
const MAX_EVENT_LENGTH = 1024 * 1024;

/** Read the events of a body (WHATWG HTML, "Server-sent events"); an event that is cut off by the end is left out. */
export async function* readServerSentEvents(response: HttpResponse): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let id = "";
  let data: string[] = [];
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    if (rest.length > MAX_EVENT_LENGTH) throw new RangeError("an event of the stream is too long");
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { id, data: data.join("\n") };
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id" && !value.includes("\0")) id = value;
      if (field === "data") data.push(value);
    }
  }
}
