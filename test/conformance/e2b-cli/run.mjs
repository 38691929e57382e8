import { runChecks } from "../e2b-js/harness.mjs";
import { sandbox } from "./checks/sandbox.mjs";
import { template } from "./checks/template.mjs";

const allPassed = await runChecks("e2b-cli", [sandbox, template]);
process.exit(allPassed ? 0 : 1);
