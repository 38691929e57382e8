import path from "node:path";
import { runChecks } from "../e2b-js/harness.mjs";
import { jsClient } from "../results/js-client.mjs";
import { contexts } from "./checks/contexts.mjs";
import { results } from "./checks/results.mjs";
import { runCode } from "./checks/run-code.mjs";

const allPassed = await runChecks(
  "code-interpreter-js",
  [runCode, contexts, results],
  [jsClient(path.join(import.meta.dirname, "node_modules/@e2b/code-interpreter"), { ownOnly: true })],
);
process.exit(allPassed ? 0 : 1);
