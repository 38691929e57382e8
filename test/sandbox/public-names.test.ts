import { expect, expectTypeOf, it } from "vitest";
import * as sdk from "../../src/index.js";

it("every error is named after its class, descends from SandboxError and is told apart across copies", () => {
  const classes = Object.entries(sdk).filter(([name]) => name.endsWith("Error") && name !== "CommandExitError" && name !== "SandboxError");
  expect(classes.length).toBeGreaterThanOrEqual(17);
  for (const [name, Class] of classes) {
    const error = new (Class as typeof sdk.InternalError)("m", { operation: "files.read" });
    expect(error).toBeInstanceOf(sdk.SandboxError);
    expect(error).toMatchObject({ name, message: "m", operation: "files.read" });
    expect(sdk.ERROR_REASONS).toContain(error.reason);
    expect(sdk.SandboxError.isInstance(error)).toBe(true);
  }
  expect(new sdk.FileNotFoundError("m")).toBeInstanceOf(sdk.NotFoundError);
  expect(new sdk.SandboxNotFoundError("m")).toBeInstanceOf(sdk.NotFoundError);
});

it("TYP-02: enumerations are plain objects at run time", () => {
  expect(sdk.FileType).toEqual({ FILE: "file", DIR: "dir", SYMLINK: "symlink" });
  expect(sdk.FilesystemEventType.CREATE).toBe("create");
});

it("TYP-04: arguments and results of the public methods can be named", () => {
  expectTypeOf<sdk.Sandbox["commands"]>().toEqualTypeOf<sdk.Commands>();
  expectTypeOf<Parameters<sdk.Commands["start"]>[1]>().toEqualTypeOf<sdk.CommandStartOptions | undefined>();
  expectTypeOf<ReturnType<sdk.Commands["start"]>>().toEqualTypeOf<Promise<sdk.CommandHandle>>();
  expectTypeOf<ReturnType<sdk.Files["list"]>>().resolves.toEqualTypeOf<sdk.EntryInfo[]>();
  expectTypeOf<ReturnType<sdk.Pty["create"]>>().resolves.toEqualTypeOf<sdk.PtySession>();
  expectTypeOf<sdk.PtySession>().toExtend<sdk.CommandHandle>();
  expectTypeOf<ReturnType<typeof sdk.Sandbox.list>>().toEqualTypeOf<sdk.SandboxPaginator>();
  class Mine extends sdk.Sandbox {
    readonly x = 1;
  }
  const create = () => Mine.create();
  expectTypeOf<ReturnType<typeof create>>().resolves.toEqualTypeOf<Mine & AsyncDisposable>();
  const read = (files: sdk.Files) => files.read("x", { format: "bytes" });
  expectTypeOf<ReturnType<typeof read>>().resolves.toEqualTypeOf<Uint8Array<ArrayBuffer>>();
});
