import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { sendEvents } from "../../src/control/rest/event-stream.js";

it("a slow reader of many events leaves nothing behind with each wait", async () => {
  const data = "x".repeat(100_000);
  let response: ServerResponse | undefined;
  const counts: number[] = [];
  async function* events() {
    for (let id = 1; id <= 200; id++) {
      counts.push((response?.listenerCount("close") ?? 0) + (response?.listenerCount("error") ?? 0));
      yield { id: String(id), type: "test", data };
    }
  }
  const server = createServer((_request, answering) => {
    response = answering;
    void sendEvents(answering, events());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const [answer] = (await once(get(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), "response")) as [IncomingMessage];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) size += chunk.length;
  expect(size).toBeGreaterThan(200 * data.length);
  expect(counts.at(-1)).toBe(counts[0]);
  server.close();
});
