// Every `abx` line of a page is one that the program takes; shell blocks that are not marked run against a real platform.
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../support/compile.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv } from "../support/run-abx.js";
import { abxCalls, commandLines, findRefusal } from "./support/abx-lines.js";
import { type Block, blocksOf, PAGES, reasonNotToRun } from "./support/pages.js";
import { runProgram } from "./support/run-program.js";

const BLOCKS = blocksOf("sh");

describe("the shell of the pages", () => {
  it.each(BLOCKS.map((block) => [block.place, block.text] as const))("%s has only commands and options that abx has", (_place, text) => {
    const refused = abxCalls(text).map((args) => [args.join(" "), findRefusal(args)]);
    expect(refused.filter(([, reason]) => reason !== undefined)).toEqual([]);
  });

  it("names only commands and options of abx in its prose", () => {
    const refused = inlineCode(/^abx( |$)/).map(([place, code]) => {
      const words = abxCalls(code)[0] ?? [];
      return [place, code, findRefusal(words, { mayBeShort: true })];
    });
    expect(refused.filter(([, , reason]) => reason !== undefined)).toEqual([]);
  });

  it("names only targets that the Makefile has", async () => {
    const targets = [...(await readFile(path.join(ROOT, "Makefile"), "utf8")).matchAll(/^([a-z-]+):/gm)].map(([, name]) => name);
    const lines = BLOCKS.flatMap(({ place, text }) => commandLines(text).map((line) => [place, line] as const));
    const named = [...inlineCode(/^make( |$)/), ...lines.filter(([, line]) => /^make( |$)/.test(line))];
    const unknown = named.filter(([, line]) => targetsOf(line).some((word) => !targets.includes(word)));
    expect(unknown).toEqual([]);
  });
});

describeOnPlatform("the shell of the pages, on a platform", (platform) => {
  let bin: string;
  beforeAll(async () => {
    bin = await mkdtemp(path.join(tmpdir(), "docs-bin-"));
    await writeFile(path.join(bin, "abx"), `#!/bin/sh\nexec '${process.execPath}' '${ABX}' "$@"\n`);
    await chmod(path.join(bin, "abx"), 0o755);
  });
  afterAll(() => rm(bin, { recursive: true }));

  const runnable = BLOCKS.filter((block) => reasonNotToRun(block) === undefined);
  it.concurrent.each(runnable.map((block) => [block.place, block] as const))("%s runs to its end", async (_place, block) => {
    const env = { ...platformEnv(platform), PATH: `${bin}:${process.env.PATH}` };
    const run = await runProgram("bash", ["-eux", "-o", "pipefail", "-c", scriptOf(block)], env);
    const hint = 'CONTRIBUTING.md, "A page", says how lines are marked that cannot run here';
    expect(run, `${run.stdout}\n${run.stderr}\n${hint}`).toMatchObject({ status: 0 });
  });
});

/** A block behind what it takes for granted and without the lines that a mark leaves out. */
function scriptOf({ marks, text }: Block): string {
  const given = marks.filter(({ name }) => name === "given").map(({ rest, body }) => `${rest}\n${body}`);
  const leftOut = marks.filter(({ name }) => name === "without").map(({ rest }) => rest.split(":")[0] ?? "");
  return [...given, ...text.split("\n").filter((line) => !leftOut.some((start) => line.startsWith(start)))].join("\n");
}

function targetsOf(line: string): string[] {
  const words = line.split(/\s+/).slice(1);
  return words.filter((word) => !/[=<>]/.test(word));
}

/** Code in the prose of all pages that matches, each with its place. */
function inlineCode(pattern: RegExp): [place: string, code: string][] {
  return PAGES.flatMap(({ name, prose }) =>
    prose.flatMap((line, index) =>
      [...line.matchAll(/`([^`]+)`/g)]
        .map(([, code = ""]): [string, string] => [`${name}:${index + 1}`, code])
        .filter(([, code]) => pattern.test(code)),
    ),
  );
}
