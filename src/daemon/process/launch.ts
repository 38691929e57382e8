import { existsSync, statSync, writeFileSync } from "node:fs";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { User } from "../user-database.js";
import type { ExitStatus } from "./exit-status.js";
import type { ProcessInput } from "./input-writer.js";
import type { OutputSink, OutputSource } from "./output-source.js";

/** What to run, with every name resolved. */
export interface LaunchPlan {
  /** Absolute path. */
  readonly file: string;
  /** The program's own name for itself. */
  readonly argv0: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly cwd: string;
  readonly user: User;
}

/** Receives what a started process does. */
export interface LaunchSink extends OutputSink {
  onExit(exit: ExitStatus): void;
}

/** A started process, by the parts that its kind has. */
export interface Launched {
  readonly pid: number;
  readonly sources: readonly OutputSource[];
  /** Absent when standard input is /dev/null. */
  readonly input: ProcessInput | undefined;
  /** Present on terminals. */
  readonly resize?: (cols: number, rows: number) => void;
}

/** How to become the user: by ids in the starting call itself, or through a program that sets them and then executes the target. */
export interface UserSwitch {
  readonly prefix: readonly string[];
  readonly ids: { readonly uid: number; readonly gid: number } | undefined;
}

const SETPRIV_PLACES = ["/usr/bin/setpriv", "/bin/setpriv"];
const OOM_SCORE_ABOVE_DAEMON = 300;

/**
 * Node can set uid and gid but no supplementary groups; `setpriv` can, and keeps the pid. A system without it loses the supplementary
 * groups only.
 *
 * @param canSetIds the starting call drops the daemon's own supplementary groups when it sets ids
 */
export function planUserSwitch(user: User, canSetIds: boolean): UserSwitch {
  // Whoever is not root can only be itself, and is that already.
  const ownUid = process.geteuid?.();
  if (ownUid !== 0 && ownUid === user.uid) return { prefix: [], ids: undefined };
  const ids = { uid: user.uid, gid: user.gid };
  const extraGroups = user.groups.filter((gid) => gid !== user.gid);
  if (canSetIds && extraGroups.length === 0) return { prefix: [], ids };
  if (!canSetIds && user.uid === 0 && extraGroups.length === 0) return { prefix: [], ids: undefined };
  const setpriv = SETPRIV_PLACES.find((file) => existsSync(file));
  if (setpriv === undefined) return { prefix: [], ids };
  const groups = extraGroups.length > 0 ? `--groups=${[user.gid, ...extraGroups].join(",")}` : "--clear-groups";
  return { prefix: [setpriv, `--reuid=${user.uid}`, `--regid=${user.gid}`, groups, "--"], ids: undefined };
}

/**
 * @throws {@link InvalidArgumentError} the directory is missing or is none.
 */
export function assertWorkingDirectory(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) throw new InvalidArgumentError(`cwd '${path}' does not exist`);
  if (!info.isDirectory()) throw new InvalidArgumentError(`cwd '${path}' is not a directory`);
}

/** When memory runs out, a process of the guest goes before the daemon does. Refusal by the kernel is harmless. */
export function preferForOom(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE_ABOVE_DAEMON));
  } catch {
    // The process ended already, or this kernel does not allow it.
  }
}
