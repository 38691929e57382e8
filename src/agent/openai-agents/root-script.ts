import type { CommandResult } from "../../sandbox/command-handle.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";

/** Characters of one script; an argument of a process holds 128 KiB. */
const MAX_SCRIPT_LENGTH = 32_768;
const TIMEOUT_MS = 300_000;

/** Run a script of `sh` as root of the sandbox, with arguments as `$1` and so on. Any exit code is a result. */
export function runAsRoot(sandbox: Sandbox, script: string, args: readonly string[] = []): Promise<CommandResult> {
  const line = quoteShellCommand(["/bin/sh", "-c", script, "sh", ...args]);
  const envs = { GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
  return sandbox.commands.run(line, { user: "root", cwd: "/", envs, reject: false, timeoutMs: TIMEOUT_MS, maxOutputBytes: 65_536 });
}

/**
 * Run lines of `sh` as root, in order, in as few scripts as there is room for.
 *
 * @param prelude what stands before the lines of each script
 * @returns the words of the first failure; `undefined` where there is none
 */
export async function runLinesAsRoot(sandbox: Sandbox, lines: readonly string[], prelude = ""): Promise<string | undefined> {
  for (let at = 0; at < lines.length; ) {
    let script = `${prelude}set -e`;
    do script += `\n${lines[at++]}`;
    while (at < lines.length && script.length + (lines[at] ?? "").length < MAX_SCRIPT_LENGTH);
    const { exitCode, stderr } = await runAsRoot(sandbox, script);
    if (exitCode !== 0) return stderr.trim() || `exit code ${exitCode}`;
  }
  return undefined;
}
