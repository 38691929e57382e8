import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { copyTree } from "../../src/control/drivers/oci/copy-tree.js";

const MIB = 1024 * 1024;
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "abx-copy-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Everything of a tree but its contents. */
function attributesOf(tree: string): string[] {
  const listed = execFileSync("find", [tree, "-printf", "%P|%M|%U|%G|%T@|%s|%n|%l\\n"], { encoding: "latin1" });
  return listed.split("\n").sort();
}

function blocksOf(path: string): number {
  return Number(execFileSync("stat", ["-c", "%b", path], { encoding: "utf8" }));
}

/** No two pieces of it are the same. */
function contents(bytes: number): Buffer {
  const words = new Uint32Array(Math.ceil(bytes / 4)).map((_, index) => Math.imul(index, 2_654_435_761));
  return Buffer.from(words.buffer).subarray(0, bytes);
}

it("copies large and small files, holes, links and attributes", async () => {
  const from = join(root, "from");
  const to = join(root, "to");
  mkdirSync(join(from, "deep/er"), { recursive: true });
  // Whole stretches and a rest that is no whole block.
  writeFileSync(join(from, "deep/er/large"), contents(75 * MIB + 1234));
  writeFileSync(join(from, "also-large"), contents(17 * MIB));
  writeFileSync(join(from, "future"), contents(17 * MIB));
  writeFileSync(join(from, "small"), "small");
  writeFileSync(join(from, "holes"), "x");
  truncateSync(join(from, "holes"), 300 * MIB);
  writeFileSync(join(from, "two-names"), contents(17 * MIB));
  execFileSync("sh", ["-c", 'ln two-names second-name; ln -s nowhere link; mkfifo pipe; touch "$(printf "\\377")"'], { cwd: from });
  chmodSync(join(from, "also-large"), 0o4711);
  chmodSync(join(from, "deep/er"), 0o2750);
  const past = new Date("2020-01-02T03:04:05Z");
  const future = new Date("2100-01-02T03:04:05Z");
  utimesSync(join(from, "future"), future, future);
  for (const name of ["also-large", "deep/er/large", "deep/er", "deep", "."]) utimesSync(join(from, name), past, past);

  await copyTree(from, to);

  expect(attributesOf(to)).toEqual(attributesOf(from));
  for (const name of ["deep/er/large", "also-large", "future", "small", "two-names", "second-name"]) {
    expect(readFileSync(join(to, name)).equals(readFileSync(join(from, name))), name).toBe(true);
  }
  expect(blocksOf(join(to, "holes"))).toBe(blocksOf(join(from, "holes")));
});

it("leaves nothing of a copy that fails", async () => {
  await expect(copyTree(join(root, "missing"), join(root, "to"))).rejects.toThrow("cannot copy the files of the sandbox");
  expect(execFileSync("ls", ["-A", root], { encoding: "utf8" })).toBe("");
});
