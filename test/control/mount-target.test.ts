import { expect, it } from "vitest";
import { assertMountTargets } from "../../src/control/volumes/mount-target.js";

it.each(["/proc/x", "relative", "/a/../b", "/a/", `/${"n".repeat(256)}/x`, `/${"é".repeat(128)}`, "/a".repeat(1_100)])(
  "a mount path that cannot be, or hides what a sandbox needs, is refused before anything is made: %.20s",
  (target) => expect(() => assertMountTargets([target])).toThrow(/the mount path/),
);

it("a mount path may have any character, and names as long as they can be", () => {
  assertMountTargets(["/data", "/mnt/a b", "/mnt/x,ro", "/a\nb", `/mnt/${"n".repeat(255)}`]);
});
