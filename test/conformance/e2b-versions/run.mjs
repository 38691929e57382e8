import { runChecks } from "../e2b-js/harness.mjs";
import { javascriptChecks } from "./javascript.mjs";
import { pythonChecks } from "./python.mjs";

const javascript = await Promise.all(["2.15", "2.25", "2.35", "2.45", "2.49"].map(javascriptChecks));
const python = ["2.25.1", "2.35.0", "2.45.1"].map(pythonChecks);
const allPassed = await runChecks("e2b-versions", [...javascript, ...python]);
process.exit(allPassed ? 0 : 1);
