import { once } from "node:events";
import { expect, it } from "vitest";
import { wholeLines } from "../../src/agent/mcp/whole-lines.js";

const pass = async (chunks: readonly string[], maxBytes: number): Promise<string[]> => {
  const lines = wholeLines(maxBytes);
  const passed: string[] = [];
  lines.on("data", (piece: Buffer) => passed.push(String(piece)));
  for (const chunk of chunks) lines.write(Buffer.from(chunk));
  lines.end();
  await once(lines, "end");
  return passed;
};

it("a long line passes as one piece in whatever pieces it comes, and what follows it waits for its own end", async () => {
  const long = "x".repeat(100_000);
  const pieces = `${long}\nnext`.match(/.{1,100}/gs) ?? [];
  expect(await pass([...pieces, " line\nrest"], 1_000_000)).toEqual([`${long}\n`, "next line\n"]);
  expect(await pass(["a\nb\nc", "\n"], 100)).toEqual(["a\nb\n", "c\n"]);
});

it("what is longer than a message may be passes before its end, so that it is refused and not held", async () => {
  expect(await pass(["12345", "67890", "1\nb\n"], 8)).toEqual(["1234567890", "1\nb\n"]);
});
