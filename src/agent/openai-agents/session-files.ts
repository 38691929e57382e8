import { SandboxPathResolutionError } from "@openai/agents-core/sandbox";
import { ConnectionError, FileNotFoundError, InvalidArgumentError, PermissionDeniedError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { concatBytes } from "../../shared/concat-bytes.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { EXIT, FILE_SCRIPTS } from "./file-scripts.js";

/** What is at a path; a symbolic link is what it leads to. */
export type PathKind = "file" | "dir" | "other";

/** Whose files are used, and which. */
export interface FileScope {
  /** @defaultValue the user of commands */
  readonly user: string | undefined;
  /** Directories that may be read. */
  readonly readable: readonly string[];
  /** Directories that may be written. */
  readonly writable: readonly string[];
}

/** Bytes that are typed at a time. */
const PIECE_BYTES = 256 * 1024;
const TIMEOUT_MS = 120_000;

interface Ran {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/**
 * Files as the tools of a session use them, by absolute paths. Each call is a command of the user: the daemon reads and writes without asking
 * whose files they are, and follows every link.
 *
 * @throws {@link FileNotFoundError} there is nothing; {@link InvalidArgumentError} it is of the wrong kind; {@link PermissionDeniedError} the
 * user may not; `SandboxPathResolutionError` a link leads out of the scope.
 */
export class SessionFiles {
  readonly #sandbox: Sandbox;
  readonly #scope: FileScope;

  constructor(sandbox: Sandbox, scope: FileScope) {
    this.#sandbox = sandbox;
    this.#scope = scope;
  }

  /** @param maxBytes only the first bytes */
  read(path: string, maxBytes?: number): Promise<Uint8Array> {
    return this.#call("read", path, maxBytes === undefined ? "" : String(maxBytes));
  }

  /** Parents are made; an existing file keeps its owner and permission bits. */
  async write(path: string, content: string): Promise<void> {
    const bytes = new TextEncoder().encode(content);
    await this.#call("write", path, String(bytes.length), bytes);
  }

  /** Parents are made, an existing file at the new path is replaced. */
  async move(from: string, to: string): Promise<void> {
    await this.#call("move", to, from);
  }

  async remove(path: string): Promise<void> {
    await this.#call("remove", path);
  }

  async list(path: string): Promise<{ readonly name: string; readonly kind: PathKind }[]> {
    const fields = new TextDecoder().decode(await this.#call("list", path)).split("\0");
    return Array.from({ length: Math.floor(fields.length / 2) }, (_, at) => ({
      name: fields[2 * at + 1] ?? "",
      kind: kindOfLetter(fields[2 * at]),
    }));
  }

  /** `undefined` where nothing is. */
  async kindOf(path: string): Promise<PathKind | undefined> {
    const bytes = await unlessMissing(this.#call("kindOf", path));
    return bytes && (new TextDecoder().decode(bytes) as PathKind); // what the script prints
  }

  /** Whether it is a directory that the user can enter. */
  async isDirectory(path: string): Promise<boolean> {
    return (await unlessMissing(this.#call("isDirectory", path))) !== undefined;
  }

  async #call(name: keyof typeof FILE_SCRIPTS, path: string, more = "", input?: Uint8Array): Promise<Uint8Array> {
    const { user, readable, writable } = this.#scope;
    const roots = name === "write" || name === "move" || name === "remove" ? writable : readable;
    const { exitCode, stdout, stderr } = await run(this.#sandbox, user, FILE_SCRIPTS[name], [path, more, ...roots], input);
    switch (exitCode) {
      case 0:
        return stdout;
      case EXIT.notFound:
        throw new FileNotFoundError(`path not found: ${name === "move" ? more : path}`);
      case EXIT.wrongKind:
        throw new InvalidArgumentError(`${path} is ${name === "list" ? "not a directory" : "not a file"}`);
      case EXIT.outside:
        throw new SandboxPathResolutionError(`${path} leads out of the workspace through a symbolic link, or cannot be resolved`, { path });
      case EXIT.incomplete:
        throw new ConnectionError(`${path} was not written, because its content did not arrive whole: try again`);
      default:
        throw new PermissionDeniedError(`${user ?? "the user"} cannot ${name} ${path}: ${stderr.trim() || `exit code ${exitCode}`}`);
    }
  }
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined;
    throw error;
  }
}

async function run(
  sandbox: Sandbox,
  user: string | undefined,
  script: string,
  args: readonly string[],
  input: Uint8Array | undefined,
): Promise<Ran> {
  const mark = crypto.randomUUID();
  const chunks: Uint8Array[] = [];
  const errors = new TextDecoder();
  let stderr = "";
  const handle = await sandbox.commands.start(quoteShellCommand(["/bin/sh", "-c", script, mark, ...args]), {
    user,
    cwd: "/",
    format: "bytes",
    stdin: input !== undefined,
    timeoutMs: TIMEOUT_MS,
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
    return { exitCode, stdout: afterMark(chunks, mark), stderr };
  } finally {
    if (handle.exitCode === undefined) handle.kill().catch(() => {});
  }
}

async function sendAll(handle: { sendStdin(data: Uint8Array): Promise<void> }, input: Uint8Array): Promise<void> {
  for (let at = 0; at < input.length; at += PIECE_BYTES) await handle.sendStdin(input.subarray(at, at + PIECE_BYTES));
}

/** What stands behind the mark; nothing where it is missing. */
function afterMark(chunks: readonly Uint8Array[], mark: string): Uint8Array {
  const bytes = concatBytes(
    chunks,
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
  const wanted = new TextEncoder().encode(mark);
  for (let at = bytes.indexOf(wanted[0] ?? 0); at !== -1; at = bytes.indexOf(wanted[0] ?? 0, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return bytes.subarray(at + wanted.length);
  }
  return new Uint8Array(0);
}

function kindOfLetter(letter: string | undefined): PathKind {
  return letter === "d" ? "dir" : letter === "f" ? "file" : "other";
}
