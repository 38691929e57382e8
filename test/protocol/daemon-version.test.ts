import { expect, it } from "vitest";
import { isVersionAtLeast } from "../../src/protocol/daemon-version.js";

it.each([
  ["0.6.13", "0.6.4", true],
  ["0.10.0", "0.9.9", true],
  ["1.0.0", "0.6.13", true],
  ["0.5.7", "0.5.7", true],
  ["v0.5.7-rc.1", "0.5.7", true],
  ["0.5.6", "0.5.7", false],
  ["0.4", "0.4.0", false],
  ["garbage", "0.1.0", false],
])("%s against %s is %s", (version, minimum, expected) => {
  expect(isVersionAtLeast(version, minimum)).toBe(expected);
});
