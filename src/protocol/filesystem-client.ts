import type {
  EventType,
  EntryInfo as WireEntry,
  FilesystemEvent as WireEvent,
  FileType as WireFileType,
} from "../../gen/proto/filesystem/filesystem_pb.js";
import { ProtocolError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { RequestOptions } from "../transport/config.js";
import type { RpcClient } from "../transport/rpc.js";

/** Kind of an entry. A symbolic link is told by its target: `symlink` appears only where the daemon says so. */
export const FileType = { FILE: "file", DIR: "dir", SYMLINK: "symlink" } as const;
export type FileType = (typeof FileType)[keyof typeof FileType];

/** What happened to an entry of a watched directory. */
export const FilesystemEventType = {
  CREATE: "create",
  WRITE: "write",
  REMOVE: "remove",
  RENAME: "rename",
  CHMOD: "chmod",
} as const;
export type FilesystemEventType = (typeof FilesystemEventType)[keyof typeof FilesystemEventType];

/** A file or directory. */
export interface EntryInfo {
  readonly name: string;
  /** Absent for what is neither a file nor a directory, such as a socket or a broken link. */
  readonly type?: FileType;
  /** Absolute. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Permission bits, e.g. `0o644`. */
  readonly mode: number;
  /** Ten characters such as `-rw-r--r--`. */
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime?: Date;
  /** Where a symbolic link leads. */
  readonly symlinkTarget?: string;
  /** Labels given when the file was written. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A change in a watched directory. */
export interface FilesystemEvent {
  /** Relative to the watched directory. */
  readonly name: string;
  readonly type: FilesystemEventType;
  /** The entry after the change, when it was asked for and could still be read. */
  readonly entry?: EntryInfo;
}

/** Options of one filesystem call. */
export interface FilesystemCallOptions extends RequestOptions {
  readonly operation: string;
  readonly user?: string | undefined;
}

/** What to watch. */
export interface WatchSpec {
  readonly path: string;
  readonly isRecursive: boolean;
  readonly includeEntry: boolean;
  readonly allowNetworkMounts: boolean;
}

/** Changes of one directory. */
export interface WatchStream {
  readonly events: AsyncIterable<FilesystemEvent>;
  /** Drop the stream: `events` rejects with `reason`. */
  cancel(reason: unknown): void;
}

/** The filesystem service of a daemon in domain terms. */
export interface FilesystemClient {
  stat(path: string, options: FilesystemCallOptions): Promise<EntryInfo>;
  /** Entries that are neither files nor directories are left out unless `includeOther` is set. */
  list(path: string, depth: number, options: FilesystemCallOptions & { readonly includeOther?: boolean | undefined }): Promise<EntryInfo[]>;
  /** False when the directory exists already. */
  makeDir(path: string, options: FilesystemCallOptions): Promise<boolean>;
  move(source: string, destination: string, options: FilesystemCallOptions): Promise<EntryInfo>;
  remove(path: string, options: FilesystemCallOptions): Promise<void>;
  /** Resolves when the watch is armed: changes from then on are seen. */
  watch(spec: WatchSpec, options: FilesystemCallOptions & { readonly timeoutMs: number }): Promise<WatchStream>;
}

/** Put the filesystem service of a daemon into domain terms. */
export function createFilesystemClient(rpc: RpcClient): FilesystemClient {
  return {
    async stat(path, options) {
      const { entry } = await rpc.unary(
        ({ Filesystem }) => Filesystem.method.stat,
        { path },
        { ...options, notFound: "file_not_found", isIdempotent: true },
      );
      return requireEntry(entry, options.operation);
    },
    async list(path, depth, { includeOther = false, ...options }) {
      const { entries } = await rpc.unary(
        ({ Filesystem }) => Filesystem.method.listDir,
        { path, depth },
        { ...options, notFound: "file_not_found", isIdempotent: true },
      );
      return entries.map(toEntry).filter((entry) => includeOther || entry.type !== undefined);
    },
    async makeDir(path, options) {
      try {
        await rpc.unary(({ Filesystem }) => Filesystem.method.makeDir, { path }, { ...options, notFound: "file_not_found" });
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "already_exists") return false;
        throw error;
      }
    },
    async move(source, destination, options) {
      const { entry } = await rpc.unary(
        ({ Filesystem }) => Filesystem.method.move,
        { source, destination },
        { ...options, notFound: "file_not_found" },
      );
      return requireEntry(entry, options.operation);
    },
    async remove(path, options) {
      await rpc.unary(
        ({ Filesystem }) => Filesystem.method.remove,
        { path },
        { ...options, notFound: "file_not_found", isIdempotent: true },
      );
    },
    async watch(spec, options) {
      const stream = await rpc.stream(
        ({ Filesystem }) => Filesystem.method.watchDir,
        {
          path: spec.path,
          recursive: spec.isRecursive,
          includeEntry: spec.includeEntry,
          allowNetworkMounts: spec.allowNetworkMounts,
        },
        { ...options, notFound: "file_not_found" },
      );
      if (stream.first.event.case !== "start") {
        const error = new ProtocolError(`${options.operation}: the daemon did not confirm the watch`, { operation: options.operation });
        stream.cancel(error);
        throw error;
      }
      return { events: readEvents(stream.rest), cancel: (reason) => stream.cancel(reason) };
    },
  };
}

type WatchMessage = {
  readonly event: { readonly case: "filesystem"; readonly value: WireEvent } | { readonly case?: unknown; readonly value?: unknown };
};

async function* readEvents(messages: AsyncIterable<WatchMessage>): AsyncGenerator<FilesystemEvent, void, undefined> {
  for await (const { event } of messages) {
    if (event.case !== "filesystem") continue;
    const wire = event.value as WireEvent; // the discriminant above
    const type = EVENT_TYPES[wire.type];
    // A kind that a newer daemon added has no name here.
    if (type === undefined) continue;
    yield { name: wire.name, type, ...(wire.entry !== undefined && { entry: toEntry(wire.entry) }) };
  }
}

// By the numbers of the wire: the generated enumerations are loaded with the messages, when something is called.
const EVENT_TYPES: Readonly<Partial<Record<EventType, FilesystemEventType>>> = {
  1: FilesystemEventType.CREATE,
  2: FilesystemEventType.WRITE,
  3: FilesystemEventType.REMOVE,
  4: FilesystemEventType.RENAME,
  5: FilesystemEventType.CHMOD,
};

const FILE_TYPES: Readonly<Partial<Record<WireFileType, FileType>>> = {
  1: FileType.FILE,
  2: FileType.DIR,
  3: FileType.SYMLINK,
};

function requireEntry(entry: WireEntry | undefined, operation: string): EntryInfo {
  if (entry === undefined) throw new ProtocolError(`${operation}: the answer describes no entry`, { operation });
  return toEntry(entry);
}

function toEntry(wire: WireEntry): EntryInfo {
  const type = FILE_TYPES[wire.type];
  return {
    name: wire.name,
    ...(type !== undefined && { type }),
    path: wire.path,
    size: Number(wire.size),
    mode: wire.mode,
    permissions: wire.permissions,
    owner: wire.owner,
    group: wire.group,
    ...(wire.modifiedTime !== undefined && { modifiedTime: toDate(wire.modifiedTime) }),
    ...(wire.symlinkTarget !== undefined && { symlinkTarget: wire.symlinkTarget }),
    ...(Object.keys(wire.metadata).length > 0 && { metadata: wire.metadata }),
  };
}

function toDate({ seconds, nanos }: NonNullable<WireEntry["modifiedTime"]>): Date {
  return new Date(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000));
}
