// What a suite found out, as JSON: one file per suite in the directory that CONFORMANCE_RESULTS names.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * `clients` have `name`, `version` and `methods`; `checks` have `client` (its place), `name`, `operations` and, where they failed, `reason`. An
 * operation passes when every check that calls it does.
 */
export function writeResults(suite, clients, checks) {
  const directory = process.env.CONFORMANCE_RESULTS;
  if (!directory || process.env.CONFORMANCE_ONLY) return;
  const results = clients.map(({ name, version, isPartial, methods }, place) => ({
    client: name,
    version,
    ...(isPartial && { isPartial }),
    operations: Object.fromEntries(
      [...methods].sort().map((operation) => {
        const callers = checks.filter((check) => check.client === place && check.operations.includes(operation));
        const failed = callers.find(({ reason }) => reason !== undefined);
        const state = callers.length === 0 ? "not driven" : failed === undefined ? "passed" : "failed";
        return [operation, { state, ...(failed !== undefined && { reason: `${failed.name}: ${failed.reason}` }) }];
      }),
    ),
  }));
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    path.join(directory, `${suite}.json`),
    `${JSON.stringify({ suite, results, checks: checks.map(({ name, reason }) => ({ name, passed: reason === undefined, reason })) }, undefined, 2)}\n`,
  );
}
