import { accessSync, constants } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { findIdRange, ID_RANGE_SIZE } from "../drivers/oci/id-range.js";
import { readOrEmpty } from "../read-or-empty.js";
import type { DoctorCheck } from "./doctor.js";
import { hasCommand } from "./system-packages.js";

/** What a user who is not root has of what a sandbox takes; some of it is root's alone on every machine. */
export function checkWithoutRoot(): DoctorCheck[] {
  return [
    {
      name: "user",
      status: "missing",
      detail: `${userName()}: root mounts the layers with shifted ids, makes the cgroups that limit a sandbox and owns the templates`,
      fix: "sudo abx setup, then sudo abx serve; or AGENT_SANDBOX_API_URL and AGENT_SANDBOX_API_KEY of a platform that root runs",
    },
    checkIdMapping(),
    checkDelegation(),
  ];
}

function checkIdMapping(): DoctorCheck {
  const name = "own user ids";
  const owner = userName();
  if (!hasCommand("newuidmap"))
    return { name, status: "warning", detail: "newuidmap is not installed", fix: "sudo apt-get install uidmap" };
  const range = findIdRange(owner);
  if (range !== undefined) return { name, status: "ok", detail: `newuidmap, and ${range.size} ids from ${range.base} in /etc/subuid` };
  return {
    name,
    status: "warning",
    detail: `newuidmap, but no block of ${ID_RANGE_SIZE} ids for ${owner} in /etc/subuid and /etc/subgid`,
    fix: `sudo usermod --add-subuids <first>-<last> --add-subgids <first>-<last> ${owner}`,
  };
}

/** Limits need a cgroup of version 2 that this user may write. */
function checkDelegation(): DoctorCheck {
  const name = "own cgroup";
  const own = /^0::(\/.*)$/m.exec(readOrEmpty("/proc/self/cgroup"))?.[1];
  const controllers = readOrEmpty("/sys/fs/cgroup/cgroup.controllers");
  if (own === undefined || controllers === "") {
    return { name, status: "warning", detail: "this machine has no cgroups of version 2, and those of version 1 are root's alone" };
  }
  try {
    accessSync(join("/sys/fs/cgroup", own, "cgroup.procs"), constants.W_OK);
    return { name, status: "ok", detail: own };
  } catch {
    return {
      name,
      status: "warning",
      detail: `${own} is not delegated to this user`,
      fix: "systemd-run --user --scope -p Delegate=yes <command>",
    };
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}
