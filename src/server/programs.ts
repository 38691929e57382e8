import { constants, userInfo } from "node:os";
import { posix } from "node:path";
import { createLibcLoader } from "../daemon/native/libc.js";
import { followProcess } from "../daemon/process/follow.js";
import type { TerminalSize } from "../daemon/process/launch-terminal.js";
import type { ManagedProcess } from "../daemon/process/managed-process.js";
import { joinPiece, type OutputPiece } from "../daemon/process/output-cursor.js";
import { ProcessRegistry } from "../daemon/process/process-registry.js";
import { openUserDatabase, type User } from "../daemon/user-database.js";

/** A program to start. */
export interface ProgramSpec {
  /** Program and arguments. */
  readonly words: readonly string[];
  /** @defaultValue the directory of the server */
  readonly cwd?: string | undefined;
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until it is killed. @defaultValue never */
  readonly timeoutMs?: number | undefined;
  /** Run it on a terminal of this size. */
  readonly terminal?: TerminalSize | undefined;
}

/** How a program ended. */
export interface ProgramEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Minus the number of the signal that ended it. */
  readonly exitCode: number;
  readonly isTimedOut: boolean;
  /** Output was left out. */
  readonly isTruncated: boolean;
}

/** Variables with the server's own settings; programs get none of them, as the token is one. */
export const OWN_VARIABLES = /^(AGENT_SANDBOX|EBX)_/;

const MAX_STREAM_BYTES = 8 * 1024 * 1024;
/** Nothing is sent into silence here, so how often it is noticed does not matter. */
const SILENCE_MS = 3_600_000;

/** Starts programs as the server's own user, with its variables, on the daemon's registry of processes. */
export class Programs {
  readonly #registry: ProcessRegistry;
  readonly #user = ownUser();

  constructor() {
    this.#registry = new ProcessRegistry(
      {
        get envVars() {
          return new Map(Object.entries(process.env).filter((entry): entry is [string, string] => !OWN_VARIABLES.test(entry[0])));
        },
        defaultVars: new Map(),
        get defaultWorkdir() {
          return process.cwd();
        },
      },
      createLibcLoader(),
    );
  }

  /** @throws InvalidArgumentError: the program, an argument or the directory cannot be used; RateLimitError: the system has no room. */
  start({ words, cwd, envs = {}, timeoutMs, terminal }: ProgramSpec): Promise<ManagedProcess> {
    const [cmd = "", ...args] = words;
    return this.#registry.start({
      cmd,
      args,
      envs,
      cwd: cwd ? posix.resolve(process.cwd(), cwd) : undefined,
      tag: undefined,
      user: this.#user,
      hasStdin: false,
      terminal: terminal && { size: terminal },
      timeoutMs,
    });
  }

  /** Run a program to its end; when `signal` aborts it is killed. Of each stream the first 8 MiB are kept. */
  async run(spec: ProgramSpec, signal: AbortSignal): Promise<ProgramEnd> {
    const started = await this.start(spec);
    const kept = { stdout: new KeptText(), stderr: new KeptText() };
    try {
      for await (const piece of followOutput(started, signal)) if (piece.kind !== "pty") kept[piece.kind].add(joinPiece(piece));
    } finally {
      killQuietly(started);
    }
    return {
      stdout: kept.stdout.text,
      stderr: kept.stderr.text,
      exitCode: exitCodeOf(started),
      isTimedOut: started.isTimedOut,
      isTruncated: kept.stdout.isTruncated || kept.stderr.isTruncated,
    };
  }

  /** Kill everything that runs. */
  close(): Promise<void> {
    return this.#registry.close();
  }
}

/** The output of a program in the order in which it was read, from its start, or from an offset, to its end. */
export async function* followOutput(
  program: ManagedProcess,
  signal: AbortSignal,
  fromOffset = 0,
): AsyncGenerator<OutputPiece, void, undefined> {
  const messages = { started: () => [], output: (piece: OutputPiece) => piece, keepalive: () => undefined, ended: () => undefined };
  for await (const piece of followProcess<OutputPiece | undefined>(program, program.follow(fromOffset), {
    signal,
    keepaliveMs: SILENCE_MS,
    messages,
  })) {
    if (piece !== undefined) yield piece;
  }
}

/** Exit code; minus the number of the signal that ended it. */
export function exitCodeOf({ exit }: Pick<ManagedProcess, "exit">): number {
  if (exit === undefined) return -1;
  if (exit.kind === "exited") return exit.code;
  return -(typeof exit.signal === "number" ? exit.signal : constants.signals[exit.signal]);
}

/** Kill a program and what it started; one that ended is fine. */
export function killQuietly(program: ManagedProcess): void {
  if (program.exit !== undefined) return;
  try {
    program.signal("SIGKILL");
  } catch {
    // It ended in this moment.
  }
}

class KeptText {
  readonly #decoder = new TextDecoder();
  #parts = "";
  #bytes = 0;
  isTruncated = false;

  add(bytes: Uint8Array): void {
    const rest = MAX_STREAM_BYTES - this.#bytes;
    if (bytes.length > rest) this.isTruncated = true;
    if (rest <= 0) return;
    this.#bytes += bytes.length;
    this.#parts += this.#decoder.decode(bytes.subarray(0, rest), { stream: true });
  }

  get text(): string {
    return this.#parts + this.#decoder.decode();
  }
}

/** Who the server runs as. Without a switch of the user its groups stay as they are. */
function ownUser(): User {
  const { uid, gid, username, homedir, shell } = userInfoOrIds();
  const account = openUserDatabase().findByUid(uid);
  return { name: account?.name ?? username, uid, gid, groups: [gid], home: account?.home ?? homedir, shell: account?.shell ?? shell };
}

function userInfoOrIds(): { uid: number; gid: number; username: string; homedir: string; shell: string } {
  try {
    const { uid, gid, username, homedir, shell } = userInfo();
    return { uid, gid, username, homedir, shell: shell ?? "/bin/sh" };
  } catch {
    // An id without an account.
    const uid = process.getuid?.() ?? 0;
    return { uid, gid: process.getgid?.() ?? 0, username: String(uid), homedir: process.env.HOME ?? "/", shell: "/bin/sh" };
  }
}
