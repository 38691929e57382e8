import { randomBytes } from "node:crypto";
import type { FilesystemEvent } from "../../../../gen/proto/filesystem/filesystem_pb.js";
import { NotFoundError, RateLimitError } from "../../../errors/error-classes.js";
import type { DirectoryWatch } from "./directory-watch.js";

/** Watchers whose events clients come and fetch. They live until they are removed, so a client that forgets costs one bounded queue. */
export interface WatcherRegistry {
  /**
   * Keep a watch and give it an id: `w` and 20 letters or digits.
   *
   * @throws {@link RateLimitError} 1024 watchers exist; the given watch is closed.
   */
  add(watch: DirectoryWatch): string;
  /**
   * Events since the last call, in order.
   *
   * @throws {@link NotFoundError} unknown id; the failure that ended the watch, once its events were fetched.
   */
  takeEvents(id: string): FilesystemEvent[];
  /** @throws {@link NotFoundError} unknown id. */
  remove(id: string): void;
  /** Close every watch. */
  clear(): void;
}

const MAX_WATCHERS = 1024;

/** Create an empty registry. */
export function createWatcherRegistry(): WatcherRegistry {
  const watchers = new Map<string, DirectoryWatch>();
  const find = (id: string): DirectoryWatch => {
    const watch = watchers.get(id);
    if (watch === undefined) throw new NotFoundError(`watcher with id '${id.slice(0, 64)}' not found`);
    return watch;
  };
  return {
    add: (watch) => {
      if (watchers.size >= MAX_WATCHERS) {
        watch.close();
        throw new RateLimitError(`the sandbox has ${MAX_WATCHERS} watchers already: remove some`);
      }
      const id = `w${randomBytes(10).toString("hex")}`;
      watchers.set(id, watch);
      return id;
    },
    takeEvents: (id) => find(id).events.take(),
    remove: (id) => {
      find(id).close();
      watchers.delete(id);
    },
    clear: () => {
      for (const watch of watchers.values()) watch.close();
      watchers.clear();
    },
  };
}
