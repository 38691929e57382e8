import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** An account of the sandbox, as `passwd(5)` and `group(5)` describe it. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** Every group id of the account, the primary one first. */
  readonly groups: readonly number[];
  readonly home: string;
  readonly shell: string;
}

/** The accounts of the sandbox. Guests may edit the files at any time, so each look-up sees the current ones. */
export interface UserDatabase {
  findByName(name: string): User | undefined;
  findByUid(uid: number): User | undefined;
  /** Account name of `uid`, or the decimal id when no account has it. */
  userName(uid: number): string;
  /** Group name of `gid`, or the decimal id when no group has it. */
  groupName(gid: number): string;
  /** The accounts as they are now, for many look-ups in a row: each call on the database itself checks the files first. */
  snapshot(): UserDatabase;
}

interface GroupLine {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/**
 * Open the account files below `directory`. They are parsed again only when their times, sizes or inodes change;
 * a missing file counts as empty.
 */
export function openUserDatabase(directory = "/etc"): UserDatabase {
  const passwdFile = join(directory, "passwd");
  const groupFile = join(directory, "group");
  let stamp = "";
  let accounts = parseAccounts("", "");

  const current = (): UserDatabase => {
    const now = `${fileStamp(passwdFile)} ${fileStamp(groupFile)}`;
    if (now !== stamp) {
      accounts = parseAccounts(readIfPresent(passwdFile), readIfPresent(groupFile));
      stamp = now;
    }
    return accounts;
  };

  return {
    findByName: (name) => current().findByName(name),
    findByUid: (uid) => current().findByUid(uid),
    userName: (uid) => current().userName(uid),
    groupName: (gid) => current().groupName(gid),
    snapshot: current,
  };
}

function fileStamp(file: string): string {
  const info = statSync(file, { bigint: true, throwIfNoEntry: false });
  return info === undefined ? "-" : `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`;
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function parseAccounts(passwd: string, group: string): UserDatabase {
  const groups = parseGroups(group);
  const byName = new Map<string, User>();
  const byUid = new Map<number, User>();
  for (const line of passwd.split("\n")) {
    const [name, , uidText, gidText, , home, shell] = line.split(":");
    const uid = parseId(uidText);
    const gid = parseId(gidText);
    if (!name || uid === undefined || gid === undefined || byName.has(name)) continue;
    const supplementary = groups.filter((entry) => entry.gid !== gid && entry.members.includes(name)).map((entry) => entry.gid);
    const user: User = { name, uid, gid, groups: [gid, ...new Set(supplementary)], home: home || "/", shell: shell || "/bin/sh" };
    byName.set(name, user);
    if (!byUid.has(uid)) byUid.set(uid, user);
  }
  const groupNames = new Map<number, string>();
  for (const { gid, name } of groups) if (!groupNames.has(gid)) groupNames.set(gid, name);
  const accounts: UserDatabase = {
    findByName: (name) => byName.get(name),
    findByUid: (uid) => byUid.get(uid),
    userName: (uid) => byUid.get(uid)?.name ?? String(uid),
    groupName: (gid) => groupNames.get(gid) ?? String(gid),
    snapshot: () => accounts,
  };
  return accounts;
}

function parseGroups(text: string): GroupLine[] {
  const groups: GroupLine[] = [];
  for (const line of text.split("\n")) {
    const [name, , gidText, members] = line.split(":");
    const gid = parseId(gidText);
    if (name && gid !== undefined) groups.push({ name, gid, members: members ? members.split(",").map((m) => m.trim()) : [] });
  }
  return groups;
}

function parseId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
