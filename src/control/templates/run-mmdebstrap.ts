import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { BaseRecipe } from "./base-recipe.js";

const KEPT_OUTPUT_LINES = 15;

/** What `apt-config dump` says. */
export async function readAptConfig(): Promise<string> {
  const { stdout } = await promisify(execFile)("apt-config", ["dump"]);
  return stdout;
}

/**
 * Run mmdebstrap.
 *
 * Own mount and pid namespaces take mmdebstrap's mounts and processes away with it, and it dies with this process, so a killed build
 * leaves nothing but files.
 *
 * @throws {@link FailedPreconditionError} it failed; the message ends with its last output.
 */
export async function runMmdebstrap({ args, input }: BaseRecipe, onProgress: (line: string) => void, signal?: AbortSignal): Promise<void> {
  const isolation = [
    "--pdeathsig",
    "KILL",
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
  ];
  const child = spawn("setpriv", [...isolation, "mmdebstrap", ...args], {
    stdio: ["pipe", "ignore", "pipe"],
    env: { ...process.env, LC_ALL: "C.UTF-8" },
    ...(signal !== undefined && { signal }),
    killSignal: "SIGKILL",
  });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  exited.catch(() => undefined);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const lastLines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lastLines.push(line);
    if (lastLines.length > KEPT_OUTPUT_LINES) lastLines.shift();
    if (line.startsWith("I: ")) onProgress(line.slice(3));
  }
  const code = await exited.catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
  if (code !== 0) {
    throw new FailedPreconditionError(
      `mmdebstrap could not build the root file system (exit code ${code}); the last lines of its output:\n${lastLines.join("\n")}`,
    );
  }
}
