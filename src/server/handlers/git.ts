import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { isYes } from "../fields.js";
import type { ServerRequest } from "../route.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const TIMEOUT_MS = 30_000;
const MAX_DIFF_BYTES = 1024 * 1024;
/** What the configuration of a repository may not do here: run programs of its own. */
const SAFE = ["-c", "core.fsmonitor=false", "--no-pager", "--no-optional-locks"];
const SAFE_DIFF = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
const UNMERGED = ["DD", "AU", "UD", "UA", "DU", "AA", "UU"];
const STATUS_OF_LETTER = { A: "added", D: "deleted", R: "renamed", C: "copied", M: "modified", T: "modified" } as const;

/** What changed in repositories. */
export function createGitHandlers({ programs, files }: ServerServices): Pick<RouteHandlers, "getGitStatus" | "getGitDiff"> {
  const git = async (request: ServerRequest, args: readonly string[]): Promise<string> => {
    const path = checked(request.query.get("path") || ".", "path");
    await using place = await files.place(path);
    const spec = { words: ["git", ...SAFE, ...args], cwd: place.path, timeoutMs: TIMEOUT_MS };
    const end = await programs.run(spec, request.signal).catch((error: unknown) => {
      if (error instanceof InvalidArgumentError && error.message.includes("not found in PATH")) {
        throw new RouteFailure(500, "FileNotFoundError", "git is not installed", "failed_precondition");
      }
      throw error;
    });
    if (end.isTimedOut) throw new RouteFailure(408, "TimeoutError", `git was killed after ${TIMEOUT_MS / 1000} s`, "timeout");
    if (end.exitCode !== 0) throw new RouteFailure(400, "GitError", end.stderr.trim().slice(0, 2_000), "invalid_argument");
    return end.stdout;
  };
  return {
    getGitStatus: async (request) => {
      const [head = "", ...records] = (await git(request, ["status", "--porcelain=v1", "-b", "-z"])).split("\0");
      const files: { path: string; status: ReturnType<typeof statusOf> }[] = [];
      for (let index = 0; index < records.length; index += 1) {
        const record = records[index] ?? "";
        if (record === "") continue;
        const letters = record.slice(0, 2);
        files.push({ path: record.slice(3), status: statusOf(letters) });
        // The name before a rename or copy follows as a record of its own.
        if (/[RC]/.test(letters)) index += 1;
      }
      return { branch: branchOf(head), clean: files.length === 0, files };
    },
    getGitDiff: async (request) => {
      const file = request.query.get("file") || undefined;
      const selection = [
        ...(isYes(request.query.get("staged")) ? ["--staged"] : []),
        "--",
        ...(file === undefined ? [] : [checked(file, "file")]),
      ];
      const diff = await git(request, [...SAFE_DIFF, ...selection]);
      const numbers = (await git(request, [...SAFE_DIFF, "--numstat", ...selection])).split("\n").filter((line) => line !== "");
      const sum = (column: number) => numbers.reduce((total, line) => total + (Number(line.split("\t")[column]) || 0), 0);
      return { diff: cut(diff), stats: { files_changed: numbers.length, insertions: sum(0), deletions: sum(1) } };
    },
  };
}

function checked(path: string, name: string): string {
  if (path.includes("\0") || path.split("/").includes("..")) throw new InvalidArgumentError(`'${name}' must have no part '..'`);
  return path;
}

function branchOf(head: string): string {
  const name = /^## (?:No commits yet on |Initial commit on )?(.+?)(?:\.\.\..*)?$/.exec(head)?.[1] ?? "HEAD";
  return name.startsWith("HEAD (") ? "HEAD" : name;
}

function statusOf(letters: string) {
  if (letters === "??") return "untracked" as const;
  if (UNMERGED.includes(letters)) return "unmerged" as const;
  const letter = letters.trim().charAt(0) as keyof typeof STATUS_OF_LETTER; // the look-up has a way out
  return STATUS_OF_LETTER[letter] ?? "modified";
}

function cut(diff: string): string {
  const bytes = Buffer.from(diff);
  if (bytes.length <= MAX_DIFF_BYTES) return diff;
  return `${new TextDecoder().decode(bytes.subarray(0, MAX_DIFF_BYTES), { stream: true })}\n... (truncated at 1MB)`;
}
