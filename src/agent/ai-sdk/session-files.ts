import type { Experimental_SandboxFileStat, Experimental_SandboxSession } from "ai";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import type { EntryInfo } from "../entry-info.js";
import { deleteFile } from "./delete-file.js";
import { type GuestPlace, pathIn } from "./guest-place.js";
import { checkLineRange, readLines } from "./read-lines.js";
import { createTextDecoder, encodeText } from "./text-encoding.js";

type FileMembers =
  | "readFile"
  | "readBinaryFile"
  | "readTextFile"
  | "writeFile"
  | "writeBinaryFile"
  | "writeTextFile"
  | "stat"
  | "listDirectory"
  | "deleteFile";

/** The part of a session that concerns files. */
export function createSessionFiles({ files, commands }: Sandbox, place: GuestPlace): Pick<Experimental_SandboxSession, FileMembers> {
  const { user } = place;
  const write = async (path: string, data: Uint8Array | ReadableStream<Uint8Array>, signal: AbortSignal | undefined): Promise<void> => {
    await files.write(pathIn(place, path), data, { user, signal });
  };
  return {
    readFile: async ({ path, abortSignal: signal }) => orNull(files.read(pathIn(place, path), { format: "stream", user, signal })),
    readBinaryFile: async ({ path, abortSignal: signal }) => orNull(files.read(pathIn(place, path), { format: "bytes", user, signal })),
    async readTextFile({ path, encoding, abortSignal: signal, ...range }) {
      const decoder = createTextDecoder(encoding);
      checkLineRange(range);
      if (range.startLine === undefined && range.endLine === undefined) {
        const bytes = await orNull(files.read(pathIn(place, path), { format: "bytes", user, signal }));
        return bytes && decoder.decode(bytes);
      }
      const stream = await orNull(files.read(pathIn(place, path), { format: "stream", user, signal }));
      return stream && readLines(stream, decoder, range);
    },
    async writeFile({ path, content, abortSignal }) {
      try {
        abortSignal?.throwIfAborted();
        await write(path, content, abortSignal);
      } catch (error) {
        // Whoever makes the content learns that nobody takes it.
        if (!content.locked) content.cancel(error).catch(() => undefined);
        throw error;
      }
    },
    writeBinaryFile: async ({ path, content, abortSignal }) => write(path, content, abortSignal),
    writeTextFile: async ({ path, content, encoding, abortSignal }) => write(path, encodeText(content, encoding), abortSignal),
    async stat({ path, abortSignal: signal }) {
      const own = await orNull(files.getInfo(pathIn(place, path), { user, signal }));
      if (own?.symlinkTarget === undefined) return own && toStat(own);
      // The daemon gives the path itself for a link that leads nowhere.
      if (own.symlinkTarget === own.path) return null;
      const target = await orNull(files.getInfo(own.symlinkTarget, { user, signal }));
      return target && toStat(target);
    },
    async listDirectory({ path, abortSignal: signal }) {
      const entries = await orNull(files.list(pathIn(place, path), { includeOther: true, user, signal }));
      return (
        entries?.map(({ name, type, symlinkTarget }) => ({ name, type: symlinkTarget === undefined ? kindOf(type) : "symlink" })) ?? null
      );
    },
    deleteFile: async ({ path, abortSignal: signal }) => deleteFile(commands, pathIn(place, path), { user, signal }),
  };
}

function toStat({ type, size }: EntryInfo): Experimental_SandboxFileStat {
  return { type: kindOf(type), size };
}

function kindOf(type: EntryInfo["type"]): Experimental_SandboxFileStat["type"] {
  if (type === undefined || type === "symlink") return "other";
  return type === "dir" ? "directory" : "file";
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "file_not_found") return null;
    throw error;
  }
}
