// Every TypeScript block of a page is compiled; every one that is not marked runs on a real platform. See CONTRIBUTING.md for the marks.
import { readdirSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CODE_TEMPLATE_TIMEOUT_MS, prepareCodeTemplate } from "../support/code-template.js";
import { compile, ROOT } from "../support/compile.js";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv } from "../support/run-abx.js";
import { type Block, blocksOf, reasonNotToRun } from "./support/pages.js";
import { type Programs, writePrograms } from "./support/programs.js";
import { runProgram, toRunnable } from "./support/run-program.js";

const EXAMPLES = path.join(ROOT, "examples");
const BLOCKS = blocksOf("ts");
/** Examples with a test of their own in test/examples, and what only a sandbox starts. */
const ELSEWHERE = ["command-server.ts", "data-analysis.ts", "remote-map.ts"];

const HINT = 'CONTRIBUTING.md, "A page", says how a block is marked that takes something for granted or cannot run here';

/** The declarations of the frameworks take most of a minute on a busy machine. */
const COMPILE_TIMEOUT_MS = 600_000;

let programs: Programs;
beforeAll(async () => {
  programs = await writePrograms();
});
afterAll(() => programs[Symbol.asyncDispose]());

describe("the TypeScript of the pages", () => {
  it("compiles against the public entries", { timeout: COMPILE_TIMEOUT_MS }, () => {
    const examples = readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts"));
    const { errors } = compile([...programs.files, ...examples.map((name) => path.join(EXAMPLES, name))], {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      typeRoots: [path.join(ROOT, "node_modules/@types")],
    });
    expect(inLines(errors), HINT).toEqual([]);
  });
});

describeOnPlatform("the TypeScript of the pages, on a platform", (platform) => {
  const env = platformEnv(platform);
  beforeAll(prepareCodeTemplate, CODE_TEMPLATE_TIMEOUT_MS);

  const runnable = BLOCKS.filter((block) => reasonNotToRun(block) === undefined);
  it.concurrent.each(runnable.map((block) => [block.place, block] as const))("%s runs to its end", async (_place, block) => {
    const file = await toRunnable(programs.fileOf(block));
    const run = await runProgram(process.execPath, ["--no-warnings", file], env);
    expect(run, programs.toPages(`${run.stdout}\n${run.stderr}\n${HINT}`)).toMatchObject({ status: 0 });
    for (const expected of promisedOutput(block)) expect(run.stdout, "what a comment behind console.log promises").toContain(expected);
  });

  it.concurrent.each(readdirSync(EXAMPLES).filter((name) => !ELSEWHERE.includes(name)))("examples/%s runs to its end", async (name) => {
    const run = await runProgram(process.execPath, [path.join(EXAMPLES, name)], env);
    expect(run, run.stderr).toMatchObject({ status: 0 });
  });
});

/** What stands in a comment behind `console.log(…);` is what it prints. */
function promisedOutput({ text }: Block): string[] {
  return [...text.matchAll(/^\s*console\.log\(.*\); \/\/ (.+)$/gm)].map(([, printed = ""]) => printed);
}

/** `file:offset:` of each error as `page:line:`, since a program has the lines of its page. */
function inLines(errors: readonly string[]): string[] {
  return errors.map((error) => {
    const [, file = "", offset = ""] = /^(.+?\.ts):(\d+): /.exec(error) ?? [];
    const line = (ts.sys.readFile(file) ?? "").slice(0, Number(offset)).split("\n").length;
    return programs.toPages(error.replace(`:${offset}:`, `:${line}:`));
  });
}
