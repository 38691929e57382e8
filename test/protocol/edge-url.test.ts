import { expect, it } from "vitest";
import { daemonUrl, portUrl } from "../../src/protocol/edge-url.js";
import type { SandboxAccess } from "../../src/protocol/lifecycle-types.js";
import { resolveConfig } from "../../src/transport/config.js";

const urls = (apiUrl: string, domain: string | undefined, sandboxUrl?: string) => {
  const config = resolveConfig({ apiUrl, apiKey: "e2b_00", domain: "example.test", ...(sandboxUrl !== undefined && { sandboxUrl }) });
  const access = { sandboxId: "i1", domain } as SandboxAccess;
  return [daemonUrl(49_983, config, access), portUrl(80, config, access)];
};

it.each(["http://127.0.0.1:3000", "http://127.1.2.3:3000", "http://localhost:3000", "http://[::1]:3000"])(
  "sandboxes of a platform of this machine are reached at its API %s",
  (apiUrl) => {
    expect(urls(apiUrl, "localhost:3000")).toEqual([apiUrl, apiUrl]);
    expect(urls(`${apiUrl}/`, "localhost:3000")).toEqual([apiUrl, apiUrl]);
  },
);

it.each([
  ["another port", "http://127.0.0.1:3000", "localhost:4000"],
  ["no port", "http://127.0.0.1:3000", "localhost"],
  ["TLS", "https://127.0.0.1:3000", "localhost:3000"],
  ["another machine", "http://192.0.2.1:3000", "localhost:3000"],
  ["a name that begins like this machine's", "http://127.0.0.1.example.test:3000", "localhost:3000"],
  ["a domain of its own", "http://127.0.0.1:3000", "sandboxes.test"],
  ["the configured domain", "http://127.0.0.1:3000", undefined],
])("with %s they are reached by their own names", (_what, apiUrl, domain) => {
  const name = domain ?? "example.test";
  expect(urls(apiUrl, domain)).toEqual([`https://49983-i1.${name}`, `https://80-i1.${name}`]);
});

it("a configured URL wins, and domains with a shared host keep it for daemons", () => {
  expect(urls("http://127.0.0.1:3000", "localhost:3000", "http://edge.test")).toEqual(["http://edge.test", "http://edge.test"]);
  expect(urls("https://api.e2b.app", "e2b.app")).toEqual(["https://sandbox.e2b.app", "https://80-i1.e2b.app"]);
});
