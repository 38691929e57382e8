import type { Stats } from "node:fs";
import { mkdir, realpath, rename, rm, stat } from "node:fs/promises";
import { posix } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import type { ConfinedFiles } from "../confined-files.js";
import { cappedInteger, type Fields, isYes, requiredParameter, requiredText } from "../fields.js";
import type { ServerRequest } from "../route.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";
import { walkDirectory } from "../walk-directory.js";

const MAX_LIST_DEPTH = 3;
const MAX_ENTRIES = 1000;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

type FileRoutes =
  | "uploadFile"
  | "downloadFile"
  | "listFiles"
  | "statFile"
  | "makeDirectory"
  | "deleteFile"
  | "moveFile"
  | "uploadFileInPieces"
  | "downloadFileInPieces";

/** Files below the base directory. */
export function createFileHandlers({ files, config: { maxUploadBytes } }: ServerServices): Pick<RouteHandlers, FileRoutes> {
  const upload = async ({ body }: ServerRequest) => {
    const path = requiredText(body, "path");
    const bytes = toBytes(body, maxUploadBytes);
    await using place = await files.place(path, { createsParents: true });
    await files.write(place, bytes);
    return { path: place.path, bytes: bytes.length };
  };
  const download = async ({ query }: ServerRequest) => {
    await using place = await files.place(requiredParameter(query, "path"));
    await using file = await files.openFile(place);
    const { size } = await file.stat();
    if (size > maxUploadBytes)
      throw new RouteFailure(413, "ValueError", `the file has ${size} bytes, above the limit of ${maxUploadBytes}`, "payload_too_large");
    const bytes = await file.readFile();
    return { path: place.path, content_base64: bytes.toString("base64"), bytes: bytes.length };
  };
  return {
    uploadFile: upload,
    uploadFileInPieces: upload,
    downloadFileInPieces: download,
    downloadFile: async (request) => {
      const { path, content_base64 } = await download(request);
      return { path, content_base64 };
    },
    listFiles: async ({ query }) => {
      const limit = cappedInteger(query.get("max_entries"), "max_entries", { min: 1, max: MAX_ENTRIES, preset: MAX_ENTRIES });
      await using place = await files.place(requiredParameter(query, "path"));
      const entries: { name: string; type: "file" | "directory"; size: number; modified: string }[] = [];
      for await (const { path, stats, hostPath } of walkDirectory(place.hostPath, isYes(query.get("recursive")) ? MAX_LIST_DEPTH : 0)) {
        const found = stats.isSymbolicLink() ? await insideTarget(files, hostPath) : stats;
        if (found === undefined) continue;
        if (entries.length >= limit) break;
        entries.push({
          name: path,
          type: found.isDirectory() ? "directory" : "file",
          size: found.size,
          modified: found.mtime.toISOString(),
        });
      }
      return { entries };
    },
    statFile: async ({ query }) => {
      const wanted = requiredParameter(query, "path");
      const absolute = posix.resolve(files.baseDir, wanted);
      const nothing = {
        name: posix.basename(absolute),
        path: absolute,
        type: "unknown",
        size: 0,
        permissions: "",
        modified: "",
        accessed: "",
        created: "",
        exists: false,
      } as const;
      try {
        await using place = await files.place(wanted, { followsLast: false });
        const found = await files.stat(place);
        const permissions = (found.mode & 0o777).toString(8).padStart(3, "0");
        const times = { modified: found.mtime.toISOString(), accessed: found.atime.toISOString(), created: found.birthtime.toISOString() };
        const facts = { size: found.size, permissions, ...times, exists: true };
        return { name: posix.basename(place.path), path: place.path, type: typeOf(found), ...facts };
      } catch (error) {
        if (isMissing(error)) return nothing;
        throw error;
      }
    },
    makeDirectory: async ({ body }) => {
      await using place = await files.place(requiredText(body, "path"), { createsParents: true });
      await mkdir(place.hostPath).catch(async (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !(await stat(place.hostPath)).isDirectory()) throw error;
      });
      return { path: place.path, created: true };
    },
    deleteFile: async ({ query }) => {
      await using place = await files.place(requiredParameter(query, "path"), { followsLast: false });
      if (place.name === ".") throw new InvalidArgumentError("the base directory cannot be deleted");
      await files.stat(place);
      await rm(place.hostPath, { recursive: true });
      return { path: place.path, deleted: true };
    },
    moveFile: async ({ body }) => {
      await using source = await labelled("source", () => files.place(requiredText(body, "source"), { followsLast: false }));
      await labelled("source", () => files.stat(source));
      await using destination = await labelled("destination", () => files.place(requiredText(body, "destination"), { followsLast: false }));
      if (source.name === "." || destination.name === ".") throw new InvalidArgumentError("the base directory cannot be moved or replaced");
      await labelled("destination", () => rename(source.hostPath, destination.hostPath));
      return { source: source.path, destination: destination.path };
    },
  };
}

function toBytes(body: Fields, maxBytes: number): Buffer {
  const text = body.content_base64;
  if (typeof text !== "string") throw new InvalidArgumentError("'content_base64' is required and must be a text");
  // A copy of something large is made only where it is needed.
  const plain = /\s/.test(text) ? text.replace(/\s/g, "") : text;
  if (plain.length % 4 !== 0 || !BASE64.test(plain)) throw new InvalidArgumentError("'content_base64' is not valid base64");
  const bytes = Buffer.from(plain, "base64");
  if (bytes.length > maxBytes) {
    throw new RouteFailure(413, "ValueError", `the content has ${bytes.length} bytes, above the limit of ${maxBytes}`, "payload_too_large");
  }
  return bytes;
}

/** What a link leads to; `undefined` when that is nothing, or outside of the base directory. */
async function insideTarget(files: ConfinedFiles, hostPath: string): Promise<Stats | undefined> {
  try {
    const target = await realpath(hostPath);
    return (await files.contains(target)) ? await stat(target) : undefined;
  } catch {
    return undefined;
  }
}

function typeOf(stats: Stats): "file" | "directory" | "symlink" | "unknown" {
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isDirectory()) return "directory";
  return stats.isFile() ? "file" : "unknown";
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ENOENT" || code === "ENOTDIR" || (error as { reason?: unknown }).reason === "file_not_found";
}

/** Say which of two paths a failure is about. */
async function labelled<T>(name: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Error) error.message = `${name}: ${error.message}`;
    throw error;
  }
}
