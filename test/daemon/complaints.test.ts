import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  sandbox = await startTestDaemon();
});
afterEach(async () => {
  await sandbox[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

/** A platform that follows the complaints; `told` is what it heard. */
async function follow(): Promise<{ socket: Socket; told: () => string }> {
  const socket = connect(sandbox.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  socket.write("CONNECT complaints:0 HTTP/1.1\r\nHost: complaints:0\r\n\r\n");
  await expect.poll(() => text).toContain("\r\n\r\n");
  return { socket, told: () => text.slice(text.indexOf("\r\n\r\n") + 4) };
}

it("tells what was said before and what is said now, one line each, and once", async () => {
  const { complaints } = sandbox.daemon.state;
  complaints.add("first");
  const early = await follow();
  complaints.add("second", new Error("of two\nlines"));
  await expect.poll(early.told).toMatch(/^first\nsecond: Error: of two \| lines \| at .*\n$/);
  const late = await follow();
  complaints.add("third");
  await expect.poll(late.told).toBe("third\n");
  if (!early.socket.closed) await once(early.socket, "close");
  late.socket.destroy();
});

it("keeps the newest for a platform that comes later", async () => {
  for (let index = 0; index < 50; index += 1) sandbox.daemon.state.complaints.add(`fault ${index}`);
  const { socket, told } = await follow();
  expect(told().split("\n")).toEqual([...Array.from({ length: 20 }, (_, index) => `fault ${30 + index}`), ""]);
  socket.destroy();
});
