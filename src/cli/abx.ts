#!/usr/bin/env node
import { loadDotEnv } from "./dot-env.js";
import { runCli } from "./run-cli.js";

const dotEnv = loadDotEnv();
// Everything written has been taken by now; an open stdin or an idle connection must not hold the process.
process.exit(await runCli(process.argv.slice(2), dotEnv));
