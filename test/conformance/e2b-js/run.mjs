import path from "node:path";
import { jsClient } from "../results/js-client.mjs";
import { commands } from "./checks/commands.mjs";
import { errors } from "./checks/errors.mjs";
import { files } from "./checks/files.mjs";
import { git } from "./checks/git.mjs";
import { lifecycle } from "./checks/lifecycle.mjs";
import { network } from "./checks/network.mjs";
import { older } from "./checks/older.mjs";
import { pty } from "./checks/pty.mjs";
import { states } from "./checks/states.mjs";
import { template } from "./checks/template.mjs";
import { volume } from "./checks/volume.mjs";
import { watch } from "./checks/watch.mjs";
import { runChecks } from "./harness.mjs";

const PACKAGES = path.join(import.meta.dirname, "node_modules");

const allPassed = await runChecks(
  "e2b-js",
  [lifecycle, states, files, watch, commands, pty, git, errors, network, template, volume, older],
  [jsClient(path.join(PACKAGES, "e2b")), jsClient(path.join(PACKAGES, "e2b-older"), { isPartial: true })],
);
process.exit(allPassed ? 0 : 1);
