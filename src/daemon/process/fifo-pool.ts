import { execFile, execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, readdirSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { PipeEnds, Pipes } from "./pipes.js";

const BATCH = 96;
const LOW_WATER = 48;
const DIRECTORY_PREFIX = "agent-sandbox-pipes-";

/**
 * Pipes by Node alone: named pipes that are opened at both ends and unlinked behave as pipe(2) does. One `mkfifo` makes many names, ahead
 * of need, so a start costs a few system calls.
 */
export class FifoPool implements Pipes {
  #directory: string | undefined;
  #names: string[] = [];
  #made = 0;
  #refill: Promise<void> | undefined;

  /** Make names ahead of need; failures show when a pipe is wanted. */
  prefill(): Promise<void> {
    this.#refill ??= new Promise<void>((resolve) => {
      const names = this.#nextNames();
      const directory = this.#directory;
      execFile("mkfifo", ["-m", "666", ...names], (error) => {
        if (error === null && directory === this.#directory) this.#names.push(...names);
        this.#refill = undefined;
        resolve();
      });
    });
    return this.#refill;
  }

  /** A pipe for output: the daemon's read end does not block, the process's write end does. */
  openOutput(): PipeEnds {
    return this.#open((name) => {
      const readFd = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
      return withCleanUp(readFd, () => ({ readFd, writeFd: openSync(name, constants.O_WRONLY) }));
    });
  }

  /** A pipe for input: the process's read end blocks, the daemon's write end does not. */
  openInput(): PipeEnds {
    return this.#open((name) => {
      // Opened for both, a FIFO never waits for its other end, and neither do the opens that follow.
      const holdFd = openSync(name, constants.O_RDWR);
      try {
        const readFd = openSync(name, constants.O_RDONLY);
        return withCleanUp(readFd, () => ({ readFd, writeFd: openSync(name, constants.O_WRONLY | constants.O_NONBLOCK) }));
      } finally {
        closeSync(holdFd);
      }
    });
  }

  async close(): Promise<void> {
    const directory = this.#leaveDirectory();
    await this.#refill;
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }

  #leaveDirectory(): string | undefined {
    const directory = this.#directory;
    this.#directory = undefined;
    this.#names = [];
    return directory;
  }

  #open(openEnds: (name: string) => PipeEnds): PipeEnds {
    const name = this.#names.pop() ?? this.#makeNow();
    if (this.#names.length < LOW_WATER) void this.prefill();
    try {
      return openAndUnlink(name, openEnds);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // Someone cleaned up below /run: start over in a fresh directory.
      this.#leaveDirectory();
      return openAndUnlink(this.#makeNow(), openEnds);
    }
  }

  #makeNow(): string {
    const names = this.#nextNames();
    try {
      execFileSync("mkfifo", ["-m", "666", ...names], { stdio: "ignore" });
    } catch (cause) {
      throw new FailedPreconditionError("no pipe can be made: the program mkfifo (package coreutils) must work inside the sandbox", {
        cause,
      });
    }
    this.#names.push(...names);
    // The batch is not empty, so there is a last one.
    return this.#names.pop() as string;
  }

  #nextNames(): string[] {
    this.#directory ??= makePrivateDirectory();
    const directory = this.#directory;
    return Array.from({ length: BATCH }, () => {
      this.#made += 1;
      return join(directory, String(this.#made));
    });
  }
}

function makePrivateDirectory(): string {
  for (const parent of ["/run", tmpdir()]) {
    try {
      removeAbandoned(parent);
      return mkdtempSync(join(parent, `${DIRECTORY_PREFIX}${process.pid}-`));
    } catch {
      // Not writable: try the next one.
    }
  }
  throw new FailedPreconditionError("no pipe can be made: neither /run nor the temporary directory is writable");
}

/** A daemon that was killed outright could not clean up. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(DIRECTORY_PREFIX) ? /^(\d+)-/.exec(name.slice(DIRECTORY_PREFIX.length))?.[1] : undefined;
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function openAndUnlink(name: string, openEnds: (name: string) => PipeEnds): PipeEnds {
  const ends = openEnds(name);
  unlinkSync(name);
  return ends;
}

function withCleanUp(fd: number, action: () => PipeEnds): PipeEnds {
  try {
    return action();
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
