import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("a creation whose caller leaves", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };

  it("leaves no sandbox behind when the server has made it already", async () => {
    const mark = randomUUID();
    const abort = new AbortController();
    const reason = new Error("not wanted any more");
    let killed = () => {};
    const undone = new Promise<void>((resolve) => {
      killed = resolve;
    });
    // The abort comes between the answer of the server and its arrival at the client.
    const lateFetch: typeof fetch = async (input, init) => {
      const { method } = new Request(input, init);
      const answer = await fetch(input, init);
      if (method === "POST") abort.abort(reason);
      if (method === "DELETE") killed();
      return answer;
    };
    await expect(Sandbox.create({ ...connection, metadata: { mark }, signal: abort.signal, fetch: lateFetch })).rejects.toBe(reason);
    await undone;
    expect(await Sandbox.list({ ...connection, query: { metadata: { mark } } }).toArray()).toEqual([]);
  });

  it("asks for nothing when it had left before", async () => {
    const reason = new Error("too early");
    const failing: typeof fetch = () => Promise.reject(new Error("a request was made"));
    await expect(Sandbox.create({ ...connection, signal: AbortSignal.abort(reason), fetch: failing })).rejects.toBe(reason);
  });
});
