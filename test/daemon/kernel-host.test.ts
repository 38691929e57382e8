import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LineCutter } from "../../src/daemon/code/bridge-lines.js";
import { findKernelHost } from "../../src/daemon/code/kernel-host.js";
import { assertVariables, toLanguage } from "../../src/daemon/code/languages.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "kernel-host-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "");
  return file;
}

describe("the Python that has kernels", () => {
  const search = () => findKernelHost(join(root, "home"), `${root}/none:${root}/first/bin:${root}/second/bin`)?.python;

  it("is none where there is no Python, or none with kernels", async () => {
    expect(search()).toBeUndefined();
    await put("first/bin/python3");
    await mkdir(join(root, "first/share/jupyter/kernels"), { recursive: true });
    expect(search()).toBeUndefined();
  });

  it("is the first of the search path beside which kernels are installed", async () => {
    await put("first/bin/python3");
    const python = await put("second/bin/python3");
    await put("second/share/jupyter/kernels/python3/kernel.json");
    expect(search()).toBe(python);
  });

  it("is the usual one for kernels that a user installed", async () => {
    const python = await put("first/bin/python3");
    await put("second/bin/python3");
    await put("home/.local/share/jupyter/kernels/python3/kernel.json");
    expect(search()).toBe(python);
  });
});

it("lines of the bridge are the same however they arrive", () => {
  const text = Buffer.from('e {}\no 1 {"text":"é"}\n\nlast\nnot yet');
  for (let size = 1; size <= text.length; size += 1) {
    const lines: string[] = [];
    const cutter = new LineCutter((line) => lines.push(line.toString()));
    for (let start = 0; start < text.length; start += size) cutter.push(Buffer.from(text.subarray(start, start + size)));
    expect(lines).toEqual(["e {}", 'o 1 {"text":"é"}', "", "last"]);
  }
});

it("COD-08: names of a language mean one context", () => {
  expect([" JS ", "node", "ts", "py", "", null, undefined, "sh", "Ruby"].map(toLanguage)).toEqual([
    "javascript",
    "javascript",
    "typescript",
    "python",
    "python",
    "python",
    "python",
    "bash",
    "ruby",
  ]);
});

it("variables that a kernel cannot have are refused", () => {
  assertVariables("python", ["any-name"]);
  assertVariables("ir", []);
  expect(() => assertVariables("ir", ["A"])).toThrow(/'ir' takes no variables/);
  expect(() => assertVariables("bash", ["A", "b-c"])).toThrow(/'b-c'/);
});
