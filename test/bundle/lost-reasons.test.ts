import { expect, it } from "vitest";
import { Sandbox, TimeoutError } from "../../src/index.js";
import { openDaemonSandbox } from "../sandbox/support/daemon-sandbox.js";

/** A `fetch` that forgets why it was aborted, as that of Bun does, and otherwise answers or not. */
function forgetful(isAnswered: (url: string) => boolean): typeof fetch {
  return async (input, init) => {
    const signal = init?.signal;
    const lost = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(undefined), { once: true }));
    lost.catch(() => undefined);
    if (!isAnswered(String(input))) return lost;
    const response = await Promise.race([fetch(input, { ...init, signal: null }), lost]);
    const reader = response.body?.getReader();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = await Promise.race([reader?.read(), lost]).catch(() => {
          void reader?.cancel();
          return controller.error(undefined);
        });
        if (chunk?.done) controller.close();
        else if (chunk?.value !== undefined) controller.enqueue(chunk.value);
      },
    });
    return new Response(body, response);
  };
}

const expired = expect.objectContaining({
  name: "TimeoutError",
  timeout: "request",
  message: expect.stringMatching(/requestTimeoutMs \(\d+ ms\)/),
});

it("BUN-07: a deadline is a TimeoutError with its message where the runtime loses the reason of an abort: control plane", async () => {
  const options = { apiUrl: "http://127.0.0.1:9", apiKey: "k", fetch: forgetful(() => false), requestTimeoutMs: 50, retries: 0 };
  await expect(Sandbox.create(options)).rejects.toEqual(expired);
  await expect(Sandbox.getInfo("id", options)).rejects.toEqual(expired);
});

it.each([true, false])("BUN-07: the same for calls, uploads, downloads and streams of a daemon (binary: %s)", async (isBinary) => {
  await using silent = await openDaemonSandbox({ fetch: forgetful(() => false), isBinary });
  const soon = { requestTimeoutMs: 50 };
  await expect(silent.files.list("/", soon)).rejects.toEqual(expired);
  await expect(silent.files.write("a", "text", soon)).rejects.toEqual(expired);
  await expect(silent.files.write("a", new Blob(["text"]).stream(), soon)).rejects.toEqual(expired);
  await expect(silent.files.read("a", soon)).rejects.toEqual(expired);
  await expect(silent.commands.run("true", soon)).rejects.toEqual(expired);
});

it("BUN-07: an abort in a stream keeps the caller's reason, and the command's own timeout is told", async () => {
  await using sandbox = await openDaemonSandbox({ fetch: forgetful(() => true) });
  const abort = new AbortController();
  const reason = new Error("enough");
  const run = sandbox.commands.run("echo begun; sleep 60", { signal: abort.signal, onStdout: () => abort.abort(reason) });
  await expect(run).rejects.toBe(reason);
  const late = sandbox.commands.run("sleep 60", { timeoutMs: 100 });
  await expect(late).rejects.toBeInstanceOf(TimeoutError);
  await expect(late).rejects.toMatchObject({ timeout: "command", message: expect.stringMatching(/timeoutMs \(100 ms\)/) as string });
});
