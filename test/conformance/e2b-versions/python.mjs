import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CHECKS = ["commands", "background", "files", "watch", "terminal", "found by id", "kill"];

/** The checks of `checks.py` with one release of the Python client; they run together, and each is told apart. */
export function pythonChecks(release) {
  return {
    title: `e2b ${release} (PyPI)`,
    setUp: async () => {
      const env = { ...process.env, PYTHONPATH: path.join(HERE, ".venv", "releases", release), PYTHONDONTWRITEBYTECODE: "1" };
      const { stdout } = await promisify(execFile)(path.join(HERE, ".venv/bin/python"), [path.join(HERE, "checks.py")], { env });
      return { results: JSON.parse(stdout) };
    },
    checks: Object.fromEntries(CHECKS.map((name) => [name, async ({ results }) => assert.equal(results[name], "passed")])),
  };
}
