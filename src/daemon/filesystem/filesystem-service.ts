import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type EntryInfo,
  type Filesystem,
  type WatchDirRequest,
  WatchDirResponse_KeepAliveSchema,
  WatchDirResponse_StartEventSchema,
  type WatchDirResponseSchema,
} from "../../../gen/proto/filesystem/filesystem_pb.js";
import { keepaliveIntervalMs } from "../keepalive.js";
import { resolvePath } from "../path-resolver.js";
import type { User } from "../user-database.js";
import { requestUser, resolveUser } from "../users.js";
import { readEntryInfo } from "./entry-info.js";
import type { FileContext } from "./file-context.js";
import { fileError } from "./file-error.js";
import { listDirectory } from "./list-dir.js";
import { makeDirectory } from "./make-dir.js";
import { moveEntry } from "./move.js";
import { removeEntry } from "./remove.js";
import { openDirectoryWatch } from "./watch/directory-watch.js";
import type { WatchHub } from "./watch/watch-hub.js";
import type { WatcherRegistry } from "./watch/watcher-registry.js";

/** What {@link createFilesystemService} is made of. */
export interface FilesystemServiceDeps {
  readonly context: FileContext;
  readonly hub: WatchHub;
  readonly watchers: WatcherRegistry;
}

/** The service `filesystem.Filesystem`. Its methods throw SandboxErrors; the server's interceptor puts them on the wire. */
export function createFilesystemService({ context, hub, watchers }: FilesystemServiceDeps) {
  const locate = (path: string, call: HandlerContext): { readonly user: User; readonly path: string } => {
    const user = resolveUser(requestUser(call.requestHeader), context);
    return { user, path: resolvePath(path, user, context) };
  };
  const describe = (path: string): EntryInfo => {
    try {
      return readEntryInfo(path, context);
    } catch (error) {
      throw fileError(error, "look up", path);
    }
  };

  return {
    stat: (request, call) => ({ entry: describe(locate(request.path, call).path) }),

    makeDir: async (request, call) => {
      const { user, path } = locate(request.path, call);
      await makeDirectory(path, user);
      return { entry: describe(path) };
    },

    move: async (request, call) => {
      const { user, path: source } = locate(request.source, call);
      const { path: destination } = locate(request.destination, call);
      await moveEntry(source, destination, user);
      return { entry: describe(destination) };
    },

    listDir: async (request, call) => ({ entries: await listDirectory(locate(request.path, call).path, request.depth, context) }),

    remove: async (request, call) => {
      await removeEntry(locate(request.path, call).path);
      return {};
    },

    watchDir: (request, call) => streamChanges(locate(request.path, call).path, request, call, context, hub),

    createWatcher: async (request, call) => {
      const watch = await openDirectoryWatch(locate(request.path, call).path, request, context, hub);
      return { watcherId: watchers.add(watch) };
    },

    getWatcherEvents: (request) => ({ events: watchers.takeEvents(request.watcherId) }),

    removeWatcher: (request) => {
      watchers.remove(request.watcherId);
      return {};
    },
  } satisfies ServiceImpl<typeof Filesystem>;
}

async function* streamChanges(
  path: string,
  request: WatchDirRequest,
  call: HandlerContext,
  context: FileContext,
  hub: WatchHub,
): AsyncGenerator<MessageInitShape<typeof WatchDirResponseSchema>> {
  const watch = await openDirectoryWatch(path, request, context, hub);
  const keepaliveMs = keepaliveIntervalMs(call.requestHeader);
  const stop = (): void => {
    watch.close();
    watch.events.fail(call.signal.reason);
  };
  call.signal.addEventListener("abort", stop, { once: true });
  try {
    if (call.signal.aborted) stop();
    yield { event: { case: "start", value: create(WatchDirResponse_StartEventSchema) } };
    for (;;) {
      await watch.events.wait(keepaliveMs);
      const events = watch.events.take();
      for (const value of events) yield { event: { case: "filesystem", value } };
      if (events.length === 0) yield { event: { case: "keepalive", value: create(WatchDirResponse_KeepAliveSchema) } };
    }
  } finally {
    call.signal.removeEventListener("abort", stop);
    watch.close();
  }
}
