import { readFileSync } from "node:fs";

/** A block of host user and group ids that stands for the ids 0 to `size` - 1 inside every sandbox. */
export interface IdRange {
  /** Host id of root inside. */
  readonly base: number;
  readonly size: number;
}

/** Ids per sandbox: every 16-bit id, so that `nobody` (65534) exists inside. */
export const ID_RANGE_SIZE = 65_536;

const FIRST_SUBORDINATE_ID = 100_000;

/**
 * The id range that `owner` has in `/etc/subuid` (subuid(5)), else for root the first block that nobody has, in `/etc/subgid` neither.
 *
 * @returns `undefined` when an unprivileged owner has no block that is large enough.
 */
export function findIdRange(owner: string, subordinateText: string = readSubordinateIds()): IdRange | undefined {
  const entries = parseSubordinate(subordinateText);
  const own = entries.find((entry) => entry.owner === owner && entry.size >= ID_RANGE_SIZE);
  if (own !== undefined) return { base: own.base, size: ID_RANGE_SIZE };
  return owner === "root" ? { base: firstFreeBase(entries), size: ID_RANGE_SIZE } : undefined;
}

interface SubordinateEntry extends IdRange {
  readonly owner: string;
}

function parseSubordinate(text: string): SubordinateEntry[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([^:#]+):(\d+):(\d+)$/.exec(line.trim());
    return match === null ? [] : [{ owner: String(match[1]), base: Number(match[2]), size: Number(match[3]) }];
  });
}

function firstFreeBase(entries: readonly SubordinateEntry[]): number {
  const sorted = [...entries].sort((a, b) => a.base - b.base);
  let base = FIRST_SUBORDINATE_ID;
  for (const entry of sorted) {
    if (entry.base < base + ID_RANGE_SIZE && base < entry.base + entry.size) base = entry.base + entry.size;
  }
  return base;
}

function readSubordinateIds(): string {
  return `${readTextOrEmpty("/etc/subuid")}\n${readTextOrEmpty("/etc/subgid")}`;
}

function readTextOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
