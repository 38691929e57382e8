import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runAbx } from "../support/run-abx.js";

const run = promisify(execFile);
const SHELLS = ["bash", "zsh", "fish"] as const;
const find = (shell: string): string | undefined => ["/usr/bin", "/bin"].map((dir) => `${dir}/${shell}`).find((file) => existsSync(file));

describe("abx completion", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "abx-completion-"));
    for (const shell of SHELLS) {
      const { status, stdout, stderr } = await runAbx(["completion", shell]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      await writeFile(path.join(directory, `abx.${shell}`), stdout);
    }
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const inBash = async (...words: string[]): Promise<string[]> => {
    const line = `. "$1/abx.bash"; shift; COMP_WORDS=(abx "$@"); COMP_CWORD=$#; _abx; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await run("/bin/bash", ["-c", line, "bash", directory, ...words])).stdout.split("\n").filter(Boolean);
  };

  it("completes commands, those below them by any of their names, options and choices in bash", async () => {
    expect(await inBash("cre")).toEqual(["create"]);
    expect(await inBash("files", "")).toEqual(expect.arrayContaining(["list", "read", "write", "watch"]));
    expect(await inBash("fs", "ls", "--de")).toEqual(["--depth"]);
    expect(await inBash("completion", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
    expect(await inBash("create", "--no-c")).toEqual(["--no-color"]);
    // Files and ids are nobody's subcommands, and what follows -- belongs to the command inside.
    expect(await inBash("exec", "some-id", "--t")).toEqual(["--tty", "--timeout"]);
    expect(await inBash("exec", "some-id", "--", "")).toEqual([]);
  });

  it.runIf(find("fish"))("completes with descriptions in fish", async () => {
    const complete = async (line: string) =>
      (await run(find("fish") ?? "", ["--no-config", "-c", `source ${directory}/abx.fish; complete -C '${line}'`])).stdout;
    expect(await complete("abx cre")).toContain("create\tcreate a sandbox");
    expect(await complete("abx fs l")).toContain("list\tlist a directory");
    expect(await complete("abx fs ls --de")).toContain("--depth");
  });

  it.runIf(find("zsh"))("is a script that zsh takes", async () => {
    const line = `autoload -Uz compinit; compinit -D -u; source ${directory}/abx.zsh; print $_comps[abx]`;
    expect((await run(find("zsh") ?? "", ["-f", "-c", line])).stdout.trim()).toBe("_abx");
  });

  it("refuses a shell that it does not know", async () => {
    expect(await runAbx(["completion", "tcsh"])).toMatchObject({ status: 2, stdout: "" });
  });
});
