import { expect, it } from "vitest";
import { formatTable } from "../../src/cli/output.js";

it("a table may have more rows than a call takes arguments, and each row is one line", () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index), "x\ny"]);
  const lines = formatTable(["N", "TEXT"], rows).split("\n");
  expect(lines).toHaveLength(200_002);
  expect(lines[200_000]).toBe(String.raw`199999  x\ny`);
});
