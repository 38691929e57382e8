/** What happened to a file. */
export type GitStatusLabel = "conflict" | "renamed" | "copied" | "deleted" | "added" | "modified" | "typechange" | "untracked" | "unknown";

/** A file that differs from the last commit. */
export interface GitFileStatus {
  name: string;
  status: GitStatusLabel;
  /** Letter of the index, a space when it is unchanged there. */
  indexStatus: string;
  /** Letter of the working tree. */
  workingTreeStatus: string;
  staged: boolean;
  renamedFrom?: string;
}

/** State of a repository. */
export interface GitStatus {
  currentBranch?: string;
  upstream?: string;
  ahead: number;
  behind: number;
  detached: boolean;
  fileStatus: GitFileStatus[];
  isClean: boolean;
  hasChanges: boolean;
  hasStaged: boolean;
  hasUntracked: boolean;
  hasConflicts: boolean;
  totalCount: number;
  stagedCount: number;
  unstagedCount: number;
  untrackedCount: number;
  conflictCount: number;
}

/** By the letters of git-status(1). */
const LABELS: Readonly<Record<string, GitStatusLabel>> = {
  R: "renamed",
  C: "copied",
  D: "deleted",
  A: "added",
  M: "modified",
  T: "typechange",
};
const CONFLICTS: readonly string[] = ["DD", "AU", "UD", "UA", "DU", "AA", "UU"];

/** Read the output of `git status --porcelain=1 -b -z`. */
export function parseStatus(output: string): GitStatus {
  const records = output.split("\0").filter((record) => record !== "");
  const header = records[0]?.startsWith("## ") ? records.shift() : undefined;
  const files: GitFileStatus[] = [];
  while (records.length > 0) {
    const record = records.shift() ?? "";
    const [indexStatus = " ", workingTreeStatus = " "] = record;
    // The record after a renamed or copied file is where it came from.
    const renamedFrom = /[RC]/.test(record.slice(0, 2)) ? records.shift() : undefined;
    files.push({
      name: record.slice(3),
      status: toLabel(indexStatus, workingTreeStatus),
      indexStatus,
      workingTreeStatus,
      staged: !" ?".includes(indexStatus) && !CONFLICTS.includes(record.slice(0, 2)),
      ...(renamedFrom !== undefined && { renamedFrom }),
    });
  }
  const count = (isCounted: (file: GitFileStatus) => boolean) => files.filter(isCounted).length;
  const untrackedCount = count(({ status }) => status === "untracked");
  const conflictCount = count(({ status }) => status === "conflict");
  const stagedCount = count(({ staged }) => staged);
  return {
    ...parseHeader(header?.slice(3) ?? ""),
    fileStatus: files,
    isClean: files.length === 0,
    hasChanges: files.length > 0,
    hasStaged: stagedCount > 0,
    hasUntracked: untrackedCount > 0,
    hasConflicts: conflictCount > 0,
    totalCount: files.length,
    stagedCount,
    unstagedCount: count(({ workingTreeStatus }) => !" ?".includes(workingTreeStatus)),
    untrackedCount,
    conflictCount,
  };
}

function toLabel(index: string, workingTree: string): GitStatusLabel {
  if (CONFLICTS.includes(index + workingTree)) return "conflict";
  if (index === "?") return "untracked";
  return LABELS[index] ?? LABELS[workingTree] ?? "unknown";
}

/** `main...origin/main [ahead 1, behind 2]`, `No commits yet on main` or `HEAD (no branch)`. */
function parseHeader(text: string): Pick<GitStatus, "currentBranch" | "upstream" | "ahead" | "behind" | "detached"> {
  const [, names = "", counts = ""] = /^(.*?)(?: \[(.*)\])?$/.exec(text) ?? [];
  const detached = names.startsWith("HEAD (");
  const [branch = "", upstream] = names.replace(/^(?:No commits yet|Initial commit) on /, "").split("...");
  return {
    ...(!detached && branch !== "" && { currentBranch: branch }),
    ...(upstream !== undefined && { upstream }),
    ahead: Number(/ahead (\d+)/.exec(counts)?.[1] ?? 0),
    behind: Number(/behind (\d+)/.exec(counts)?.[1] ?? 0),
    detached,
  };
}
