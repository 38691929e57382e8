import type { Sandbox } from "../../sandbox/sandbox.js";
import type { CommandEnd } from "../run-to-end.js";
import { isCutShort, type SearchCall, streamOutput } from "./stream-output.js";

/** A file or directory that was found. */
export interface FoundFile {
  readonly path: string;
  /** Links are told by their target. */
  readonly isDirectory: boolean;
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

export interface FileQuery extends SearchCall {
  /** Where to search, absolute. */
  readonly roots: readonly string[];
  /** Levels below the roots. */
  readonly minDepth: number;
  readonly maxDepth: number | undefined;
  readonly isWanted: (path: string) => boolean;
  readonly maxFiles: number;
}

export interface FileSearch {
  readonly files: readonly FoundFile[];
  /** There are more, or the time was over. */
  readonly isTruncated: boolean;
  /** How find ended; `undefined` when it was stopped because there were enough files. */
  readonly end: CommandEnd | undefined;
}

/** No path of the kernel is longer, even if each character takes one byte. */
const MAX_RECORD_LENGTH = 8_192;
const SHORTEST_RECORD = "f\t0\t0\t/".length;

/** Find files and directories, by find inside the sandbox. Links are not followed. What is kept here is bounded, whatever lies there. */
export async function findFiles(sandbox: Sandbox, query: FileQuery): Promise<FileSearch> {
  const { roots, minDepth, maxDepth, isWanted, maxFiles, signal, timeoutMs, user } = query;
  const words = ["find", "-H", ...roots, "-mindepth", String(minDepth)];
  if (maxDepth !== undefined) words.push("-maxdepth", String(maxDepth));
  words.push("-printf", "%Y\\t%s\\t%T@\\t%p\\0");

  const files: FoundFile[] = [];
  let rest = "";
  const take = (text: string) => {
    const records = (rest + text).split("\0");
    rest = (records.pop() ?? "").slice(0, MAX_RECORD_LENGTH);
    for (const record of records) {
      const file = toFile(record);
      if (file !== undefined && files.length <= maxFiles && isWanted(file.path)) files.push(file);
    }
    return files.length > maxFiles;
  };
  const end = await streamOutput(sandbox, words, { signal, timeoutMs, user, take });
  return { files: files.slice(0, maxFiles), isTruncated: files.length > maxFiles || isCutShort(end), end };
}

/** Nothing for sockets, pipes and devices; a link that leads nowhere counts as a file. */
function toFile(record: string): FoundFile | undefined {
  // A program of the guest that is called find may print anything, and much of it.
  if (record.length < SHORTEST_RECORD) return undefined;
  const [, type = "", size, time, path = ""] = /^(.)\t(\d+)\t([\d.-]+)\t(.*)$/s.exec(record) ?? [];
  const modifiedAt = new Date(Number(time) * 1000);
  if (!"fdNL".includes(type) || path === "" || Number.isNaN(modifiedAt.getTime())) return undefined;
  return { path, isDirectory: type === "d", sizeBytes: Number(size), modifiedAt };
}
