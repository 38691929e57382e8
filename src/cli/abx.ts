#!/usr/bin/env node
import { loadDotEnv } from "./dot-env.js";
import { runCli } from "./run-cli.js";

loadDotEnv();
process.exitCode = await runCli(process.argv.slice(2));
