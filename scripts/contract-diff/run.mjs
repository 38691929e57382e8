// Prints what changed in the contract, breaking changes first: node scripts/contract-diff/run.mjs <revision> [directory]
//
// The directory has `proto/`, `buf.yaml` and `gen/openapi/`; by default it is the repository as it is now. OpenAPI is compared by oasdiff,
// which needs Go; proto by buf. The exit status is 1 when the comparison itself fails, whatever it finds.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { listElements } from "./proto-elements.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [from, directory = root] = process.argv.slice(2);
const before = mkdtempSync(path.join(tmpdir(), "contract-"));
process.on("exit", () => rmSync(before, { recursive: true, force: true }));
if (!from) fail("usage: make contract-diff FROM=<revision>");
const revision = git("rev-parse", "--verify", `${from}^{commit}`).trim();
const archive = execFileSync("git", ["archive", revision, "proto", "buf.yaml", "gen/openapi"], { cwd: root, maxBuffer: 2 ** 28 });
execFileSync("tar", ["-x", "-C", before], { input: archive });
print("breaking", [...protoBreaking(), ...openApiChanges("ERR")]);
print("not breaking", [...protoAdditions(), ...openApiChanges("WARN"), ...openApiChanges("INFO")]);

function protoBreaking() {
  const { status, stdout, stderr } = spawnSync("buf", ["breaking", "--against", before], { cwd: directory, encoding: "utf8" });
  // 100 is how buf says that it found something.
  if (status !== 0 && status !== 100) fail(`buf breaking failed: ${stderr}`);
  return lines(stdout).map((line) => `proto    ${line}`);
}

function protoAdditions() {
  const known = new Set(elementsOf(before));
  return elementsOf(directory)
    .filter((element) => !known.has(element))
    .map((element) => `proto    added or changed ${element}`);
}

function elementsOf(tree) {
  const image = execFileSync("buf", ["build", "--exclude-source-info", "-o", "-#format=json"], {
    cwd: tree,
    maxBuffer: 2 ** 28,
    encoding: "utf8",
  });
  return listElements(JSON.parse(image));
}

function openApiChanges(level) {
  const names = (tree) => readdirSync(path.join(tree, "gen/openapi")).filter((name) => name.endsWith(".yaml"));
  const [old, now] = [names(before), names(directory)];
  const changes = now
    .filter((name) => old.includes(name))
    .flatMap((name) =>
      oasdiff(path.join(before, "gen/openapi", name), path.join(path.resolve(directory), "gen/openapi", name), level, name),
    );
  if (level === "ERR") changes.push(...old.filter((name) => !now.includes(name)).map((name) => `openapi  ${name}: removed`));
  if (level === "INFO") changes.push(...now.filter((name) => !old.includes(name)).map((name) => `openapi  ${name}: added`));
  return changes;
}

function oasdiff(base, revision, level, name) {
  const args = ["tool", "oasdiff", "changelog", base, revision, "--format", "json", "--level", level];
  const env = { ...process.env, GOTOOLCHAIN: "local" };
  const { status, stdout, stderr, error } = spawnSync("go", args, {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (error) fail(`OpenAPI is compared by oasdiff, which needs Go in PATH (${error.message})`);
  if (status !== 0) fail(`oasdiff failed: ${stderr}`);
  const number = { INFO: 1, WARN: 2, ERR: 3 }[level];
  return JSON.parse(stdout || "[]")
    .filter((change) => change.level === number)
    .map(({ operation = "", path: at = "", text }) => `openapi  ${name}: ${[operation, at].filter(Boolean).join(" ")}${at && ": "}${text}`);
}

function print(title, changes) {
  console.log(`${title}: ${changes.length}`);
  for (const change of [...new Set(changes)]) console.log(`  ${change}`);
}

function lines(text) {
  return text.split("\n").filter(Boolean);
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status !== 0) fail(`git ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}

function fail(message) {
  console.error(`contract-diff: ${message}`);
  process.exit(1);
}
