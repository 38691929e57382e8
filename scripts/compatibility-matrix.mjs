// Write docs/compatibility-matrix.md from the results of `make conformance`. Fails where a public method is neither driven nor listed with a
// reason, and where the page was another one: what is committed is what a run gave.
// Usage: node scripts/compatibility-matrix.mjs <directory of results>
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = path.join(ROOT, "docs/compatibility-matrix.md");
const [directory] = process.argv.slice(2);
const REASONS = Object.entries(JSON.parse(readFileSync(path.join(ROOT, "test/conformance/results/not-driven.json"), "utf8")));
/** Groups in the order in which a reader meets them. */
const GROUPS = ["Sandbox", "files", "watch handle", "commands", "command handle", "pty", "git", "list", "Volume", "Secret", "Template"];

const unexplained = [];
const failures = [];
const e2b = clientsOf("e2b-js", "e2b-entry", "e2b-python");
const interpreters = clientsOf("code-interpreter-js", "code-interpreter-python");
const exchanges = resultsOf("server-python");
const releases = Map.groupBy(checksOf("e2b-versions"), ({ title }) => title);

const page = `# Compatibility matrix

<!-- note: written by \`make conformance\` from its run -->

Each public method of each client that \`make conformance\` drives against the platform. [compatibility.md](compatibility.md) says how, and what
cannot work. Names are those of the npm packages; those of PyPI have the same in their spelling.

| sign | meaning |
| --- | --- |
| yes | checks call the method, and all of them pass |
| **no** | a check that calls it fails, see below |
| – | the client has no such method |
${REASONS.map(([reason], index) => `| ${letter(index)} | not called: ${reason} |`).join("\n")}
|  | not called: this version is driven where its routes differ from those of the other one |

## Sandboxes

${GROUPS.map((group) => table(group, e2b)).join("\n")}
## Code interpreter

${table("Sandbox", interpreters)}
## Older releases

What a program does all day, by the means that all of these releases have.

${["npm", "PyPI"].map(releaseTable).join("\n")}
## The program \`e2b\` of \`@e2b/cli\`

| what it does | |
| --- | --- |
${checksOf("e2b-cli")
  .map(({ title, name, passed }) => `| ${title}: ${name} | ${passed ? "yes" : "**no**"} |`)
  .join("\n")}

## The container-side runtime

\`${exchanges.results[0].client.replace(" (PyPI)", "")}\` ${exchanges.results[0].version} of PyPI, unmodified, and our command server give answers of the same status and shape to the same requests, and our client works with it:

| exchange | |
| --- | --- |
${exchanges.checks.map(({ name, passed }) => `| ${name} | ${passed ? "yes" : "**no**"} |`).join("\n")}
${failures.length === 0 ? "" : `\n## What fails\n\n${failures.map((line) => `- ${line}\n`).join("")}`}`;

const before = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "";
if (before !== page) {
  writeFileSync(PAGE, page);
  console.error("docs/compatibility-matrix.md was not what this run gave, and is written anew: look at the difference and commit it");
  process.exitCode = 1;
}
if (unexplained.length > 0) {
  console.error(`neither driven nor in test/conformance/results/not-driven.json: ${unexplained.join(", ")}`);
  process.exitCode = 1;
}

function resultsOf(suite) {
  return JSON.parse(readFileSync(path.join(directory, `${suite}.json`), "utf8"));
}

/** Checks of a suite whose clients are told apart by the title of the group. */
function checksOf(suite) {
  return resultsOf(suite).checks.flatMap(({ name: whole, passed, reason }) => {
    const [title, name] = whole.split(/: (.*)/);
    if (!passed) failures.push(`${whole}: ${reason}`);
    return name === "the preparation" && passed ? [] : [{ title, name, passed }];
  });
}

function releaseTable(registry) {
  const columns = [...releases].filter(([title]) => title.endsWith(`(${registry})`));
  const names = [...new Set(columns.flatMap(([, checks]) => checks.map(({ name }) => name)))];
  const rows = names.map((name) => {
    const cells = columns.map(([, checks]) => (checks.find((check) => check.name === name)?.passed ? "yes" : "**no**"));
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return `| | ${columns.map(([title]) => title).join(" | ")} |\n| --- |${" --- |".repeat(columns.length)}\n${rows.join("\n")}\n`;
}

function clientsOf(...suites) {
  return suites.flatMap((suite) => resultsOf(suite).results);
}

/** Rows are the methods that any of the clients has. Spellings such as toJSON and toJson are one method. */
function table(group, clients) {
  const names = new Map();
  for (const operation of clients.flatMap(({ operations }) => Object.keys(operations))) {
    if (operation.startsWith(`${group}.`) && !names.has(operation.toLowerCase())) names.set(operation.toLowerCase(), operation);
  }
  const rows = [...names.values()]
    .sort()
    .map((name) => `| ${name.slice(group.length + 1)} | ${clients.map((client) => cell(client, name)).join(" | ")} |`);
  const heads = clients.map(({ client, version }) => `${client} ${version}`);
  return `| ${group} | ${heads.join(" | ")} |\n| --- |${" --- |".repeat(heads.length)}\n${rows.join("\n")}\n`;
}

function cell({ client, version, isPartial, operations }, name) {
  const found = Object.entries(operations).find(([operation]) => operation.toLowerCase() === name.toLowerCase());
  if (found === undefined) return "–";
  const [, { state, reason }] = found;
  if (state === "passed") return "yes";
  if (state === "failed") {
    failures.push(`${client} ${version}, \`${name}\`: ${reason}`);
    return "**no**";
  }
  const index = REASONS.findIndex(([, names]) => names.includes(name));
  if (index !== -1) return letter(index);
  if (!isPartial) unexplained.push(`${client} ${version} ${name}`);
  return "";
}

function letter(index) {
  return String.fromCharCode("a".charCodeAt(0) + index);
}
