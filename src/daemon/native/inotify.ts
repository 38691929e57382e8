import { constants } from "node:os";
import type { Libc, LibcLoader } from "./libc.js";

/** Bits of inotify(7) event masks. */
export const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  UNMOUNT: 0x2000,
  Q_OVERFLOW: 0x4000,
  IGNORED: 0x8000,
  ONLYDIR: 0x0100_0000,
  DONT_FOLLOW: 0x0200_0000,
  ISDIR: 0x4000_0000,
} as const;

/** One event as the kernel reports it. */
export interface InotifyEvent {
  /** Descriptor of the watch; −1 for a queue overflow. */
  readonly watch: number;
  readonly mask: number;
  /** Joins the two halves of a rename; 0 otherwise. */
  readonly cookie: number;
  /** Name below the watched directory; empty when the event is about the directory itself. */
  readonly name: string;
}

export interface InotifyListener {
  onEvent(event: InotifyEvent): void;
  /** Every event that the kernel had queued has been delivered. */
  onDrained(): void;
}

/** One inotify instance. */
export interface Inotify {
  /**
   * Watch a directory; the same directory gives the same descriptor.
   *
   * @throws the system error with its `code`: `ENOENT`, `ENOTDIR`, `ENOSPC` at the limit of watches.
   */
  add(path: string, mask: number): number;
  /** Stop a watch; events of it that are queued still arrive. */
  remove(watch: number): void;
  close(): void;
}

const O_NONBLOCK = 0o4000;
const O_ASYNC = 0o20000;
const O_CLOEXEC = 0o2000000;
const F_SETFL = 4;
const F_SETOWN = 8;
const BUFFER_BYTES = 64 * 1024;
/** Reads before other work of the daemon gets its turn: one holds about 2000 events. */
const READS_PER_TURN = 1;
/** Safety net for kernels that raise no SIGIO for inotify. */
const POLL_MS = 250;

/**
 * Open an instance. Node cannot poll a foreign descriptor, so the kernel announces events with SIGIO and they are read without
 * blocking: no thread waits in a read, and nothing runs while nothing changes but one cheap check every 250 ms.
 *
 * @throws {@link UnimplementedError} no access to the C library; the system error (`EMFILE`) at the limit of instances.
 */
export function openInotify(loader: LibcLoader, listener: InotifyListener): Inotify {
  const libc = loader.load();
  let isOpen = true;
  let isScheduled = false;
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  const drain = (): void => {
    if (isScheduled) return;
    for (let reads = 0; isOpen && reads < READS_PER_TURN; reads++) {
      const length = libc.read(fd, buffer, BUFFER_BYTES);
      if (length <= 0) {
        listener.onDrained();
        return;
      }
      parseEvents(buffer, length, listener);
    }
    if (!isOpen) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      if (isOpen) drain();
    });
  };

  // The listener stands before the descriptor may raise the signal, whose default action ends the process.
  process.on("SIGIO", drain);
  const fd = libc.inotifyInit(O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    process.off("SIGIO", drain);
    throw systemError(libc, "inotify_init1");
  }
  libc.fcntl(fd, F_SETOWN, process.pid);
  libc.fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
  const poll = setInterval(drain, POLL_MS);
  poll.unref();

  return {
    add: (path, mask) => {
      const watch = libc.inotifyAddWatch(fd, path, mask);
      if (watch < 0) throw systemError(libc, "inotify_add_watch");
      return watch;
    },
    remove: (watch) => {
      libc.inotifyRemoveWatch(fd, watch);
    },
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(poll);
      libc.fcntl(fd, F_SETFL, O_NONBLOCK);
      libc.close(fd);
      // A signal raised just before may still be on its way: the handler leaves one turn later.
      setImmediate(() => setImmediate(() => process.off("SIGIO", drain)));
    },
  };
}

/** struct inotify_event: int wd, uint32 mask, uint32 cookie, uint32 len, then `len` bytes of NUL-padded name. */
function parseEvents(buffer: Buffer, length: number, listener: InotifyListener): void {
  for (let offset = 0; offset + 16 <= length; ) {
    const nameLength = buffer.readUInt32LE(offset + 12);
    const nameStart = offset + 16;
    const nul = nameLength === 0 ? nameStart : buffer.indexOf(0, nameStart);
    const nameEnd = nul < 0 ? nameStart + nameLength : Math.min(nul, nameStart + nameLength);
    listener.onEvent({
      watch: buffer.readInt32LE(offset),
      mask: buffer.readUInt32LE(offset + 4),
      cookie: buffer.readUInt32LE(offset + 8),
      name: buffer.toString("utf8", nameStart, nameEnd),
    });
    offset = nameStart + nameLength;
  }
}

function systemError(libc: Libc, call: string): Error {
  const errno = libc.errno();
  const code = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
  return Object.assign(new Error(`${call}: ${code}`), { code });
}
