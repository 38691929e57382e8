import { describe, expect, it } from "vitest";
import { toRunResult } from "../../src/agent/run-to-end.js";

describe("what a model is told of a command", () => {
  it("is how it ended and what it printed", () => {
    expect(toRunResult({ exitCode: 3, stdout: "a\n", stderr: "" })).toEqual({
      content: [{ type: "text", text: "exit code: 3\nstdout:\na" }],
      isError: true,
    });
  });

  it("is also that output is missing", () => {
    const textOf = (more: { missingBytes?: number; outputMayBeIncomplete?: boolean }) =>
      toRunResult({ exitCode: 0, stdout: "", stderr: "", ...more }).content[0];
    expect(textOf({ missingBytes: 7 })).toMatchObject({ text: expect.stringContaining("7 bytes of output are missing") });
    expect(textOf({ outputMayBeIncomplete: true })).toMatchObject({ text: expect.stringContaining("output may be missing") });
    expect(textOf({})).toMatchObject({ text: "exit code: 0\nIt printed nothing." });
  });
});
