import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { assertMountPlaces } from "../../src/control/drivers/oci/mount-place.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "mount-place-"));
  for (const directory of ["low/etc", "low/srv/old", "up/srv", "up/gone", "volume"]) mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, "low/etc/passwd"), "");
  writeFileSync(join(root, "low/etc/gone"), "");
  writeFileSync(join(root, "low/srv/replaced"), "");
  mkdirSync(join(root, "up/srv/replaced"));
  writeFileSync(join(root, "low/gone"), "");
  symlinkSync("/etc/passwd", join(root, "low/to-file"));
  symlinkSync("srv/../srv/old", join(root, "low/to-directory"));
  symlinkSync("circle", join(root, "low/circle"));
  symlinkSync("../../../../../../../../..", join(root, "low/out"));
  // On the machine there is a file of this name, in the sandbox there is none.
  writeFileSync(join(root, "host-file"), "");
  symlinkSync(join(root, "host-file"), join(root, "low/to-host"));
  writeFileSync(join(root, "volume/file"), "");
});
afterEach(() => rmSync(root, { recursive: true }));

const check = (...targets: string[]) =>
  assertMountPlaces(
    [join(root, "up"), join(root, "low")],
    targets.map((target) => ({ source: join(root, "volume"), target })),
  );

it.each([
  ["/etc/passwd", "/etc/passwd"],
  ["/etc/passwd/x", "/etc/passwd"],
  ["/to-file", "/etc/passwd"],
  ["/to-file/x/y", "/etc/passwd"],
  ["/out/etc/passwd", "/etc/passwd"],
  ["/to-directory/../replaced/../../etc/passwd", "/etc/passwd"],
])("a mount at %s is refused by name, as there is a file", (target, file) => {
  expect(() => check(target)).toThrow(new RegExp(`at the path "${target}": "${file}" is a file in the sandbox`));
});

it("a mount on a file of a volume that is mounted before is refused, and links in a circle are", () => {
  expect(() => check("/data", "/data/file")).toThrow(/"\/data\/file" is a file/);
  expect(() => check("/circle")).toThrow(/too many links/);
});

it("directories, links to them, and what is not there may be mounted on, whatever the machine has there", () => {
  check("/etc", "/srv/old", "/srv/replaced", "/gone", "/gone/x", "/to-directory", "/new/deep", "/to-host", "/out", "/data", "/data/new");
});

it("what a layer removed is not there", () => {
  execFileSync("mknod", [join(root, "up/etc"), "c", "0", "0"]);
  check("/etc/passwd", "/etc/gone/x");
});
