import { expect, it } from "vitest";
import { assertStackable } from "../../src/control/snapshots/snapshots.js";
import { FailedPreconditionError } from "../../src/errors/error-classes.js";

it("a chain of snapshots may be as long as the kernel stacks layers, and the one too many says what to do", () => {
  expect(() => assertStackable(500)).not.toThrow();
  expect(() => assertStackable(501)).toThrow(FailedPreconditionError);
  expect(() => assertStackable(501)).toThrow(/copy its files into a sandbox made from a template/);
});
