import { expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { complaintAboutNode } from "../../src/cli/node-version.js";

it("abx names the Node that it needs to one that is too old, as the package does", () => {
  const [, oldest = ""] = /^>=(\d+\.\d+)$/.exec(packageJson.engines.node) ?? [];
  expect(complaintAboutNode("20.20.2")).toContain(`needs Node ${oldest} or newer, and this is 20.20.2`);
  expect(complaintAboutNode("22.12.0")).toBeDefined();
  for (const version of ["22.13.0", "23.0.0", "24.19.4", process.versions.node]) expect(complaintAboutNode(version)).toBeUndefined();
});
