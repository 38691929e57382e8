import { RateLimitError } from "../../../errors/error-classes.js";
import { IN, type Inotify, type InotifyEvent, openInotify } from "../../native/inotify.js";
import type { LibcLoader } from "../../native/libc.js";
import { errnoCode } from "../file-error.js";

/** Receives the events of one directory. */
export interface DirectoryListener {
  onEvent(event: InotifyEvent): void;
}

/** Told about the state of the event queue that all watches share. */
export interface QueueListener {
  /** The kernel's queue is empty: what happened before the latest {@link WatchHub.watch} has been reported. */
  onDrained(): void;
  /** The kernel dropped events; nobody knows which. */
  onOverflow(): void;
}

/** Shares one inotify instance, of which a user may have only a few, among all watches of the daemon. */
export interface WatchHub {
  /**
   * Report events of `mask` in a directory; more kinds may come when others watch it too. Returns the function that stops it.
   *
   * @throws {@link RateLimitError} the sandbox has too many watches; {@link UnimplementedError} no inotify here; the system error
   * (`ENOENT`, `ENOTDIR`, `ELOOP`) when there is no such directory.
   */
  watch(path: string, mask: number, listener: DirectoryListener): () => void;
  /** Returns the function that ends the subscription. */
  onQueue(listener: QueueListener): () => void;
}

/** Keeps the kinds that earlier watches of the same directory asked for. */
const IN_MASK_ADD = 0x2000_0000;

/** Create the hub; the instance is open only while something is watched. */
export function createWatchHub(loader: LibcLoader): WatchHub {
  const listeners = new Map<number, Set<DirectoryListener>>();
  const queueListeners = new Set<QueueListener>();
  let inotify: Inotify | undefined;

  const onEvent = (event: InotifyEvent): void => {
    if ((event.mask & IN.Q_OVERFLOW) !== 0) {
      for (const listener of [...queueListeners]) listener.onOverflow();
      return;
    }
    const interested = listeners.get(event.watch);
    if (interested === undefined) return;
    if ((event.mask & IN.IGNORED) !== 0) listeners.delete(event.watch);
    for (const listener of [...interested]) if (interested.has(listener)) listener.onEvent(event);
  };

  const onDrained = (): void => {
    for (const listener of [...queueListeners]) listener.onDrained();
  };

  const closeIfIdle = (): void => {
    if (listeners.size > 0) return;
    inotify?.close();
    inotify = undefined;
  };

  return {
    watch: (path, mask, listener) => {
      let watch: number;
      try {
        inotify ??= openInotify(loader, { onEvent, onDrained });
        watch = inotify.add(path, mask | IN.ONLYDIR | IN_MASK_ADD);
      } catch (error) {
        closeIfIdle();
        throw limitError(error);
      }
      const interested = listeners.get(watch) ?? new Set();
      listeners.set(watch, interested);
      interested.add(listener);
      return () => {
        if (!interested.delete(listener) || interested.size > 0 || listeners.get(watch) !== interested) return;
        listeners.delete(watch);
        inotify?.remove(watch);
        closeIfIdle();
      };
    },
    onQueue: (listener) => {
      queueListeners.add(listener);
      return () => queueListeners.delete(listener);
    },
  };
}

function limitError(error: unknown): unknown {
  const code = errnoCode(error);
  if (code === "ENOSPC") {
    return new RateLimitError("the sandbox watches too many directories: stop other watches, or watch a smaller tree", { cause: error });
  }
  if (code === "EMFILE" || code === "ENFILE") {
    return new RateLimitError("the sandbox has too many open files or inotify instances to watch a directory", { cause: error });
  }
  return error;
}
