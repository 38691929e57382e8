import { withDefaults } from "../egress/proxy-environment.js";
import type { User } from "../user-database.js";

/** PATH of a daemon that was started without one. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Environment of a process. Later wins: the account, the defaults, the sandbox, the request; nothing of the daemon but PATH is inherited.
 */
export function processEnvironment(
  user: User,
  sandboxVars: Iterable<readonly [string, string]>,
  requestVars: Iterable<readonly [string, string]>,
  defaults: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  return new Map<string, string>([
    ["PATH", process.env.PATH || DEFAULT_PATH],
    ["HOME", user.home],
    ["USER", user.name],
    ["LOGNAME", user.name],
    ...withDefaults(defaults, new Map([...sandboxVars, ...requestVars])),
  ]);
}
