import { runChecks } from "../e2b-js/harness.mjs";
import { contexts } from "./checks/contexts.mjs";
import { results } from "./checks/results.mjs";
import { runCode } from "./checks/run-code.mjs";

const allPassed = await runChecks("code-interpreter-js", [runCode, contexts, results]);
process.exit(allPassed ? 0 : 1);
