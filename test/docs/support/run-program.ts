import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { transform } from "esbuild";
import { machineTemplatesDir } from "../../support/test-platform.js";

const TIMEOUT_MS = 100_000;

export interface Run {
  /** Exit status, or the signal that ended it. */
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run a program in a directory of its own, with nothing but these variables; what it started with it is ended after 100 s. */
export async function runProgram(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  const cwd = await mkdtemp(path.join(tmpdir(), "docs-run-"));
  const dataDir = path.join(cwd, ".data");
  // Directories of its own: the platform, files and settings of this user are not its business; only templates are the machine's.
  const own = {
    HOME: cwd,
    AGENT_SANDBOX_DATA_DIR: dataDir,
    AGENT_SANDBOX_RUN_DIR: path.join(cwd, ".run"),
    XDG_CONFIG_HOME: path.join(cwd, ".config"),
    LANG: "C.UTF-8",
  };
  try {
    // 0711: the kernel enters these directories with the ids of the sandbox.
    await chmod(cwd, 0o711);
    await mkdir(dataDir, { mode: 0o711 });
    await symlink(machineTemplatesDir(), path.join(dataDir, "templates"));
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, ...own, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    }
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), TIMEOUT_MS);
    const status = await new Promise<number | string>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
    });
    clearTimeout(timer);
    return { status, ...output };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** What Node can run: decorators, which it does not take away as it does types, are compiled. */
export async function toRunnable(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!/^\s*@\w+\(/m.test(text)) return file;
  const { code } = await transform(text, { loader: "ts", target: "es2022", sourcefile: file, sourcemap: "inline", format: "esm" });
  const compiled = file.replace(/ts$/, "mjs");
  await writeFile(compiled, code);
  return compiled;
}
