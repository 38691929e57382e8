import { execFile, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { spawn as spawnPty } from "@lydell/node-pty";

const PROGRAM = fileURLToPath(new URL("./node_modules/@e2b/cli/dist/index.js", import.meta.url));
/** No configuration of the person who runs the checks is read or written, and no registry is asked for updates. */
const HOME = mkdtempSync(path.join(tmpdir(), "abx-e2b-cli-"));
const environment = { ...process.env, HOME, NO_UPDATE_NOTIFIER: "1", NO_COLOR: "1" };

/** Run the program to its end; resolves to what it printed and its exit code. */
export function e2b(args, { input = "", cwd = HOME, env = {} } = {}) {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...args],
      { env: { ...environment, ...env }, cwd, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        resolve({ exitCode: error ? (error.code ?? error.signal) : 0, stdout, stderr });
      },
    );
    child.stdin.end(input);
  });
}

/** As {@link e2b}, and throws when the exit code is not 0. */
export async function e2bOk(args, options) {
  const result = await e2b(args, options);
  if (result.exitCode !== 0) throw new Error(`e2b ${args.join(" ")} ended with ${result.exitCode}: ${result.stderr || result.stdout}`);
  return result.stdout;
}

/** Start the program; `text()` is what it has printed so far. */
export function startE2b(args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: environment, cwd: HOME, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
  }
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
  return { child, ended, text: () => text };
}

/** Start the program in a terminal. */
export function startE2bInTerminal(args) {
  const pty = spawnPty(process.execPath, [PROGRAM, ...args], { env: environment, cwd: HOME, cols: 100, rows: 30, name: "xterm" });
  let text = "";
  pty.onData((chunk) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  return { ended, write: (input) => pty.write(input), kill: () => pty.kill(), text: () => text };
}
