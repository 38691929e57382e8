import { realpath, stat } from "node:fs/promises";
import { posix } from "node:path";
import { create } from "@bufbuild/protobuf";
import { EventType, type FilesystemEvent, FilesystemEventSchema } from "../../../../gen/proto/filesystem/filesystem_pb.js";
import { FailedPreconditionError, InvalidArgumentError } from "../../../errors/error-classes.js";
import { readEntryInfoIfPresent } from "../entry-info.js";
import type { FileContext } from "../file-context.js";
import { fileError } from "../file-error.js";
import { EventQueue } from "./event-queue.js";
import { networkMountType } from "./network-mounts.js";
import { TreeWatch } from "./tree-watch.js";
import type { WatchHub } from "./watch-hub.js";

/** Events that one watch keeps for a reader that is behind; more end the watch with an error. */
export const MAX_QUEUED_EVENTS = 65_536;

export interface DirectoryWatchOptions {
  readonly recursive: boolean;
  /** Describe the entry in events of kind create, write and chmod, as far as it still exists. */
  readonly includeEntry: boolean;
  /** Accept file systems where changes by other machines stay unseen. */
  readonly allowNetworkMounts: boolean;
}

/** A running watch. */
export interface DirectoryWatch {
  readonly events: EventQueue<FilesystemEvent>;
  /** Idempotent. */
  close(): void;
}

/**
 * Watch the directory at `path`; every change after the returned promise resolves is queued.
 *
 * @throws {@link FileNotFoundError} nothing is there; {@link InvalidArgumentError} not a directory, or a network mount that was not
 * allowed; {@link RateLimitError} too many watches; {@link UnimplementedError} the daemon has no inotify.
 */
export async function openDirectoryWatch(
  path: string,
  options: DirectoryWatchOptions,
  context: FileContext,
  hub: WatchHub,
): Promise<DirectoryWatch> {
  const root = await realDirectory(path);
  const networkType = options.allowNetworkMounts ? undefined : await networkMountType(root);
  if (networkType !== undefined) {
    throw new InvalidArgumentError(
      `path '${path}' is on a ${networkType} mount, where changes by other machines stay unseen: set allow_network_mounts to watch it nevertheless`,
    );
  }
  const overflow = () =>
    new FailedPreconditionError(
      `the watch of '${path}' lost events: ${MAX_QUEUED_EVENTS} were waiting to be read. List the directory and watch again`,
      undefined,
      "aborted",
    );
  const events: EventQueue<FilesystemEvent> = new EventQueue(MAX_QUEUED_EVENTS, overflow, () => tree.close());
  const tree = new TreeWatch(hub, root, options.recursive, {
    onChange: (type, name) => events.push(toEvent(type, name, path, options, context)),
    onFailure: (error) => events.fail(fileError(error, "watch", path)),
  });
  try {
    await tree.start();
  } catch (error) {
    throw fileError(error, "watch", path);
  }
  return { events, close: () => tree.close() };
}

async function realDirectory(path: string): Promise<string> {
  try {
    const root = await realpath(path);
    if ((await stat(root)).isDirectory()) return root;
  } catch (error) {
    throw fileError(error, "watch", path);
  }
  throw new InvalidArgumentError(`path '${path}' is not a directory`);
}

const WITH_ENTRY: ReadonlySet<EventType> = new Set([EventType.CREATE, EventType.WRITE, EventType.CHMOD]);

function toEvent(type: EventType, name: string, root: string, options: DirectoryWatchOptions, context: FileContext): FilesystemEvent {
  const entry = options.includeEntry && WITH_ENTRY.has(type) ? readEntryInfoIfPresent(posix.join(root, name), context) : undefined;
  return create(FilesystemEventSchema, entry === undefined ? { name, type } : { name, type, entry });
}
