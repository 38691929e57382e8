import { expect, it } from "vitest";
import { resolveServerConfig } from "../../src/server/server-config.js";

it("numbers come from the options, then our variables, then those of the Python runtime", () => {
  const env = { AGENT_SANDBOX_MAX_UPLOAD_SIZE: "10", EBX_MAX_UPLOAD_SIZE: "20", EBX_PTY_PORT: "7000" };
  expect(resolveServerConfig({}, env)).toMatchObject({ maxUploadBytes: 10, ptyPort: 7000 });
  expect(resolveServerConfig({ maxUploadBytes: 5, ptyPort: 0 }, env)).toMatchObject({ maxUploadBytes: 5, ptyPort: 0 });
  expect(resolveServerConfig({}, { ...env, AGENT_SANDBOX_MAX_UPLOAD_SIZE: "", EBX_PTY_PORT: "" })).toMatchObject({
    maxUploadBytes: 20,
    ptyPort: 9001,
  });
});

it.each(["100MB", "1e9", "-1", "0x10", "1.5", "ten", "0", "9".repeat(16)])(
  "a largest file of %j is an error that names the variable",
  (text) => {
    for (const name of ["AGENT_SANDBOX_MAX_UPLOAD_SIZE", "EBX_MAX_UPLOAD_SIZE"]) {
      expect(() => resolveServerConfig({}, { [name]: text })).toThrow(new RegExp(`^${name} must be a whole number`));
    }
  },
);

it.each(["http", "70000", "-1", "80.5"])("a port of %j for terminals is an error that names the variable", (text) => {
  expect(() => resolveServerConfig({}, { AGENT_SANDBOX_PTY_PORT: text })).toThrow(/^AGENT_SANDBOX_PTY_PORT must be a/);
});

it("an option that cannot be is told by its name", () => {
  expect(() => resolveServerConfig({ maxUploadBytes: 0 }, {})).toThrow(/^maxUploadBytes must be/);
  expect(() => resolveServerConfig({ ptyPort: -1 }, { AGENT_SANDBOX_PTY_PORT: "80" })).toThrow(/^ptyPort must be/);
});
