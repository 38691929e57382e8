import { existsSync } from "node:fs";
import type { User } from "../user-database.js";
import type { LaunchPlan } from "./launch.js";

/** How to start a program as its user: by ids in the starting call itself, or through a program that sets them and then executes it. */
export interface SwitchedProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly ids: { readonly uid: number; readonly gid: number } | undefined;
  /** `file` is not the program itself. */
  readonly isWrapped: boolean;
}

const SETPRIV_PLACES = ["/usr/bin/setpriv", "/bin/setpriv"];
const ENV_PLACES = ["/usr/bin/env", "/bin/env"];

/** Variables with which a C library loads code or writes files: the program that changes the user is root, and must not see them. */
const UNSAFE_VARIABLE = /^(LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*)$/;

/**
 * Node can set uid and gid but no supplementary groups; `setpriv` can, and keeps the pid. A system without it loses the supplementary
 * groups only. Variables that would make it, as root, run code of the user's are set behind it, by env(1) as the user.
 *
 * @param canSetIds the starting call drops the daemon's own supplementary groups when it sets ids
 */
export function switchUser(
  { file, args, env, user }: Pick<LaunchPlan, "file" | "args" | "env" | "user">,
  canSetIds: boolean,
): SwitchedProgram {
  // Whoever is not root can only be itself, and is that already.
  const ownUid = process.geteuid?.();
  if (ownUid !== 0 && ownUid === user.uid) return { file, args, env, ids: undefined, isWrapped: false };
  const ids = { uid: user.uid, gid: user.gid };
  const extraGroups = user.groups.filter((gid) => gid !== user.gid);
  if (canSetIds && extraGroups.length === 0) return { file, args, env, ids, isWrapped: false };
  if (!canSetIds && user.uid === 0 && extraGroups.length === 0) return { file, args, env, ids: undefined, isWrapped: false };
  const setpriv = SETPRIV_PLACES.find((place) => existsSync(place));
  const late = [...env].filter(([name]) => UNSAFE_VARIABLE.test(name)).map(([name, value]) => `${name}=${value}`);
  const setter = late.length === 0 ? [] : setVariables(late, file);
  if (setpriv === undefined || setter === undefined) return { file, args, env, ids, isWrapped: false };
  return {
    file: setpriv,
    args: [...setprivArgs(user, extraGroups), ...setter, file, ...args],
    env: late.length === 0 ? env : new Map([...env].filter(([name]) => !UNSAFE_VARIABLE.test(name))),
    ids: undefined,
    isWrapped: true,
  };
}

/** True when a program of {@link switchUser} would need env(1). */
export function hasUnsafeVariables(env: ReadonlyMap<string, string>): boolean {
  for (const name of env.keys()) if (UNSAFE_VARIABLE.test(name)) return true;
  return false;
}

function setprivArgs({ uid, gid }: User, extraGroups: readonly number[]): string[] {
  const groups = extraGroups.length > 0 ? `--groups=${[gid, ...extraGroups].join(",")}` : "--clear-groups";
  return [`--reuid=${uid}`, `--regid=${gid}`, groups, "--"];
}

/** `undefined` where env(1) is missing or would take the program for one more variable. */
function setVariables(variables: readonly string[], file: string): string[] | undefined {
  const env = ENV_PLACES.find((place) => existsSync(place));
  return env === undefined || file.includes("=") ? undefined : [env, "--", ...variables];
}
