// The checks of the e2b client with only the import changed. What differs by design is named here and in docs/migrate-from-e2b.md; a
// difference that is gone is a failure too.
import path from "node:path";
import { commands } from "../e2b-js/checks/commands.mjs";
import { errors } from "../e2b-js/checks/errors.mjs";
import { files } from "../e2b-js/checks/files.mjs";
import { git } from "../e2b-js/checks/git.mjs";
import { lifecycle } from "../e2b-js/checks/lifecycle.mjs";
import { network } from "../e2b-js/checks/network.mjs";
import { pty } from "../e2b-js/checks/pty.mjs";
import { states } from "../e2b-js/checks/states.mjs";
import { template } from "../e2b-js/checks/template.mjs";
import { volume } from "../e2b-js/checks/volume.mjs";
import { watch } from "../e2b-js/checks/watch.mjs";
import { runChecks } from "../e2b-js/harness.mjs";
import { jsClient } from "../results/js-client.mjs";
import { publicMethods } from "../results/public-methods.mjs";

/** Check → the class that is thrown in place of the one that the client throws. All but the last are derived from that one. */
const DIFFERENCES = {
  "commands: stdin of a command that has none": "FailedPreconditionError",
  "pty: resize of a command without a terminal": "InternalError",
  "errors: an unknown template": "TemplateError",
  "errors: a timeout of 0": "InvalidArgumentError",
  "errors: a timeout that does not fit": "InvalidArgumentError",
  "errors: a malformed id": "InvalidArgumentError",
  "template: assignTags, getTags and removeTags": "InvalidArgumentError",
};

const groups = [lifecycle, states, files, watch, commands, pty, git, errors, network, template, volume].map((group) => ({
  ...group,
  checks: Object.fromEntries(
    Object.entries(group.checks).map(([name, check]) => [name, expectDifference(`${group.title}: ${name}`, check)]),
  ),
}));
const allPassed = await runChecks("e2b-entry", groups, [
  {
    ...jsClient(path.join(import.meta.dirname, "../../.."), { name: "@agent-sandbox/sdk/e2b", typesFile: "dist/compat/e2b/index.d.ts" }),
    // What it has beside them has tests of its own.
    methods: publicMethods(path.join(import.meta.dirname, "../e2b-js/node_modules/e2b/dist/index.d.ts")),
  },
]);
process.exit(allPassed ? 0 : 1);

function expectDifference(title, check) {
  const name = DIFFERENCES[title];
  if (name === undefined) return check;
  return async (context) => {
    const failure = await check(context).then(
      () => undefined,
      (error) => error,
    );
    if (failure === undefined) throw new Error("this is no difference any more: take it off the list and out of the guide");
    // The failed assertion says which class it got.
    if (!failure.message.startsWith(`${name}: `)) throw failure;
  };
}
