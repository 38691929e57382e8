import { closeSync, fchmodSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { RateLimitError } from "../../errors/error-classes.js";
import type { Libc, LibcLoader } from "../native/libc.js";
import { FifoPool } from "./fifo-pool.js";

/** Both ends of a pipe, as descriptors that the caller owns. */
export interface PipeEnds {
  readonly readFd: number;
  readonly writeFd: number;
}

/** Makes real pipes for processes; Node offers socket pairs only, on which a program cannot open `/dev/stdout` (ENXIO). */
export interface Pipes {
  /** A pipe for output; the process gets the end to write. */
  openOutput(): PipeEnds;
  /** A pipe for input; the process gets the end to read. */
  openInput(): PipeEnds;
  close(): Promise<void>;
}

// fcntl.h of Linux.
const O_CLOEXEC = 0o2000000;
/** A process of any user may open its standard streams once more, by their names below /dev. */
const EVERYONE_OPENS = 0o666;

/** Pipes of pipe2(2), or named ones where the C library cannot be called. */
export function createPipes(loader: LibcLoader): Pipes {
  let libc: Libc;
  try {
    libc = loader.load();
  } catch {
    const pool = new FifoPool();
    void pool.prefill();
    return pool;
  }
  const ends = new Int32Array(2);
  const open = (): PipeEnds => {
    if (libc.pipe2(ends, O_CLOEXEC) !== 0) {
      throw new RateLimitError(`no pipe can be made (${getSystemErrorName(-libc.errno())}): end some processes first`);
    }
    const [readFd = -1, writeFd = -1] = ends;
    try {
      fchmodSync(readFd, EVERYONE_OPENS);
    } catch (error) {
      // gVisor has no modes of pipes.
      if ((error as NodeJS.ErrnoException).code === "EPERM") return { readFd, writeFd };
      closeSync(readFd);
      closeSync(writeFd);
      throw error;
    }
    return { readFd, writeFd };
  };
  return { openOutput: open, openInput: open, close: async () => undefined };
}
