import { FileNotFoundError, InvalidArgumentError, PermissionDeniedError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { concatBytes } from "../../shared/concat-bytes.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import type { PathKind, SessionFiles } from "./session-files.js";

/** Exit codes of the scripts for what is no failure of a program. */
const NOT_FOUND = 44;
const WRONG_KIND = 45;
const FIND = `[ -e "$1" ] || exit ${NOT_FOUND}`;
const FIND_FILE = `${FIND}; [ -d "$1" ] && exit ${WRONG_KIND}`;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
const MAKE_PARENT = 'mkdir -p -- "${1%/*}/" || exit 1';

/** `$0` goes to standard output first: what a login shell printed before it is not ours. */
const SCRIPTS = {
  read: `${FIND_FILE}; printf %s "$0"; if [ -n "$2" ]; then exec head -c "$2" -- "$1"; else exec cat -- "$1"; fi`,
  write: `[ -d "$1" ] && exit ${WRONG_KIND}; ${MAKE_PARENT}; exec head -c "$2" > "$1"`,
  move: `[ -e "$2" ] || exit ${NOT_FOUND}; [ -d "$1" ] && exit ${WRONG_KIND}; ${MAKE_PARENT}; exec mv -f -- "$2" "$1"`,
  remove: `[ -L "$1" ] || ${FIND}; exec rm -- "$1"`,
  list: `${FIND}; [ -d "$1" ] || exit ${WRONG_KIND}; printf %s "$0"; exec find -H "$1" -mindepth 1 -maxdepth 1 -printf '%Y\\0%f\\0'`,
  kindOf: `${FIND}; printf %s "$0"; if [ -d "$1" ]; then echo dir; elif [ -f "$1" ]; then echo file; else echo other; fi`,
  isDirectory: `[ -d "$1" ] && [ -x "$1" ] || exit ${NOT_FOUND}`,
} as const;

/** Bytes that are typed at a time. */
const PIECE_BYTES = 256 * 1024;

interface Ran {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/**
 * The files as a user may touch them: each call is a command of this user, because the daemon reads and writes without asking whose files
 * they are.
 */
export function userFiles(sandbox: Sandbox, user: string): SessionFiles {
  const call = async (name: keyof typeof SCRIPTS, path: string, second = "", input?: Uint8Array): Promise<Uint8Array> => {
    const { exitCode, stdout, stderr } = await run(sandbox, user, SCRIPTS[name], [path, second], input);
    if (exitCode === 0) return stdout;
    if (exitCode === NOT_FOUND) throw new FileNotFoundError(`path not found: ${name === "move" ? second : path}`);
    if (exitCode === WRONG_KIND) throw new InvalidArgumentError(`${path} is ${name === "list" ? "not a directory" : "not a file"}`);
    throw new PermissionDeniedError(`${user} cannot ${name} ${path}: ${stderr.trim() || `exit code ${exitCode}`}`);
  };
  const text = async (...args: Parameters<typeof call>) => new TextDecoder().decode(await call(...args));
  const unlessMissing = async <T>(work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if (error instanceof FileNotFoundError) return undefined;
      throw error;
    }
  };
  return {
    read: (path, maxBytes) => call("read", path, maxBytes === undefined ? "" : String(maxBytes)),
    async write(path, content) {
      const bytes = new TextEncoder().encode(content);
      await call("write", path, String(bytes.length), bytes);
    },
    move: async (from, to) => void (await call("move", to, from)),
    remove: async (path) => void (await call("remove", path)),
    async list(path) {
      const fields = (await text("list", path)).split("\0");
      return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => ({
        name: fields[2 * at + 1] ?? "",
        kind: kindOfLetter(fields[2 * at]),
      }));
    },
    kindOf: async (path) => (await unlessMissing(text("kindOf", path)))?.trim() as PathKind | undefined, // what the script prints
    isDirectory: async (path) => (await unlessMissing(call("isDirectory", path))) !== undefined,
  };
}

async function run(sandbox: Sandbox, user: string, script: string, args: readonly string[], input?: Uint8Array): Promise<Ran> {
  const mark = crypto.randomUUID();
  const chunks: Uint8Array[] = [];
  const errors = new TextDecoder();
  let stderr = "";
  const handle = await sandbox.commands.start(quoteShellCommand(["/bin/sh", "-c", script, mark, ...args]), {
    user,
    cwd: "/",
    format: "bytes",
    stdin: input !== undefined,
    maxOutputBytes: 0,
    onStdout: (data) => void chunks.push(data.slice()),
    onStderr: (data) => {
      stderr = `${stderr}${errors.decode(data, { stream: true })}`.slice(-4_096);
    },
  });
  try {
    // A program that ends early, because it may not write, takes no input: its exit code tells.
    if (input !== undefined) await sendAll(handle, input).catch(() => {});
    const { exitCode } = await handle.waitForOutcome();
    return { exitCode, stdout: afterMark(concatAll(chunks), mark), stderr };
  } finally {
    if (handle.exitCode === undefined) handle.kill().catch(() => {});
  }
}

async function sendAll(handle: { sendStdin(data: Uint8Array): Promise<void> }, input: Uint8Array): Promise<void> {
  for (let at = 0; at < input.length; at += PIECE_BYTES) await handle.sendStdin(input.subarray(at, at + PIECE_BYTES));
}

function concatAll(chunks: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    chunks,
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
}

/** What stands behind the mark; nothing where it is missing. */
function afterMark(bytes: Uint8Array, mark: string): Uint8Array {
  const wanted = new TextEncoder().encode(mark);
  for (let at = 0; at + wanted.length <= bytes.length; at += 1) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return bytes.subarray(at + wanted.length);
  }
  return new Uint8Array(0);
}

function kindOfLetter(letter: string | undefined): PathKind {
  return letter === "d" ? "dir" : letter === "f" ? "file" : "other";
}
