import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ROUTE_PLACES } from "../../src/server/built-in-routes.js";
import { CAPABILITY_GROUPS } from "../../src/server/capability-groups.js";

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
}

const contract = JSON.parse(await readFile(new URL("../../gen/openapi/server.json", import.meta.url), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId, tags, security }]) => ({
    name: operationId,
    method: method.toUpperCase(),
    path,
    group: tags[0],
    isOpen: security?.length === 0,
  })),
);

test("openapi/server.yaml has 41 routes and a WebSocket, each served where it says", () => {
  const served = Object.entries(ROUTE_PLACES).map(([name, { method, path, group, isOpen }]) => ({ name, method, path, group, isOpen }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(served.sort(byName)).toEqual(operations.filter(({ name }) => name !== "openPty").sort(byName));
  expect(served).toHaveLength(41);
  expect(operations).toContainEqual({ name: "openPty", method: "GET", path: "/pty", group: "terminal", isOpen: true });
});

test("the groups have as many routes as those of the Python runtime", () => {
  const count = (group: string) => operations.filter((operation) => operation.group === group && operation.name !== "openPty").length;
  expect(Object.fromEntries(CAPABILITY_GROUPS.map((group) => [group, count(group)]))).toEqual({
    core: 2,
    commands: 2,
    file_ops: 11,
    process: 6,
    terminal: 3,
    system: 6,
    dev_tools: 3,
    browser: 8,
  });
});
