#!/usr/bin/env node
import { loadDotEnv } from "./dot-env.js";
import { complaintAboutNode } from "./node-version.js";
import { runCli } from "./run-cli.js";

const complaint = complaintAboutNode(process.versions.node);
if (complaint !== undefined) {
  process.stderr.write(`abx: ${complaint}\n`);
  process.exit(1);
}
const dotEnv = loadDotEnv();
// Everything written has been taken by now; an open stdin or an idle connection must not hold the process.
process.exit(await runCli(process.argv.slice(2), dotEnv));
