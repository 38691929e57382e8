// Which public methods of a client were called, as the engine's own count of calls says: nothing of the client is changed for it.
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { parse } from "acorn";
import { GROUPS } from "./public-methods.mjs";

/** Begin to count for clients, each with `urlPrefix` of its files and its `methods`. */
export async function watchCalls(clients) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const owners = new Map();
  return {
    /** Operations of each client since the last time, in the order of the clients. */
    async take() {
      const { result } = await session.post("Profiler.takePreciseCoverage");
      return clients.map(({ urlPrefix, methods }) => {
        const called = new Set();
        for (const { url, functions } of result.filter((script) => script.url.startsWith(urlPrefix))) {
          if (!owners.has(url)) owners.set(url, ownersIn(readFileSync(fileURLToPath(url), "utf8")));
          for (const { functionName, ranges } of functions) {
            if (ranges[0].count === 0) continue;
            const owner = owners.get(url).get(ranges[0].endOffset);
            // Functions of plain objects are the operations beside a template.
            const operation = owner !== undefined && `${owner === "" ? "Template" : GROUPS[owner]}.${functionName}`;
            if (methods.has(operation)) called.add(operation);
          }
        }
        return called;
      });
    },
    stop: () => session.disconnect(),
  };
}

/** End of each method in a source → name of its class, or "" in an object. */
function ownersIn(source) {
  const found = new Map();
  const visit = (node, owner) => {
    if (node === null || typeof node !== "object") return;
    if (Array.isArray(node)) {
      for (const each of node) visit(each, owner);
      return;
    }
    if (node.type === "VariableDeclarator" && node.init?.type === "ClassExpression") return visit(node.init, node.id.name);
    if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
      const name = (owner ?? node.id?.name ?? "").replace(/\$\d+$/, "");
      for (const member of node.body.body) {
        if (member.type === "MethodDefinition") found.set(member.value.end, name);
        visit(member.value, undefined);
      }
      return;
    }
    if (node.type === "Property" && /Function/.test(node.value.type)) found.set(node.value.end, "");
    for (const [key, value] of Object.entries(node)) if (key !== "type") visit(value, undefined);
  };
  visit(parse(source, { ecmaVersion: "latest", sourceType: "module" }), undefined);
  return found;
}
