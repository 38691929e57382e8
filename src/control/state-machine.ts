import { FailedPreconditionError, SandboxNotFoundError } from "../errors/error-classes.js";

/**
 * States of a sandbox, in the order of its life. A killed sandbox has no record. `snapshotting` is running with its processes standing still
 * for a moment.
 */
export type SandboxState = "starting" | "running" | "snapshotting" | "pausing" | "paused" | "resuming" | "killing";

/** Calls whose permission depends on the state. */
export type SandboxCall =
  | "info"
  | "list"
  | "kill"
  | "connect"
  | "resume"
  | "setTimeout"
  | "refresh"
  | "pause"
  | "snapshot"
  | "updateNetwork"
  | "traffic";

/**
 * What a call does in a state.
 *
 * `allow` goes on; `absent` answers as if there were no sandbox; `cancel` ends a creation that still runs; `conflict` is refused and may
 * be repeated later; `wait` waits until the transition is over and asks again.
 */
export type Verdict = "allow" | "absent" | "cancel" | "conflict" | "wait";

const ALL_ABSENT: Record<SandboxCall, Verdict> = {
  info: "absent",
  list: "absent",
  kill: "absent",
  connect: "absent",
  resume: "absent",
  setTimeout: "absent",
  refresh: "absent",
  pause: "absent",
  snapshot: "absent",
  updateNetwork: "absent",
  traffic: "absent",
};

const RUNNING: Record<SandboxCall, Verdict> = {
  info: "allow",
  list: "allow",
  kill: "allow",
  connect: "allow",
  resume: "conflict",
  setTimeout: "allow",
  refresh: "allow",
  pause: "allow",
  snapshot: "allow",
  updateNetwork: "allow",
  traffic: "allow",
};

const PAUSED: Record<SandboxCall, Verdict> = {
  info: "allow",
  list: "allow",
  kill: "allow",
  connect: "allow",
  resume: "allow",
  setTimeout: "conflict",
  refresh: "conflict",
  pause: "conflict",
  snapshot: "conflict",
  updateNetwork: "conflict",
  traffic: "absent",
};

const TABLE: Record<SandboxState, Record<SandboxCall, Verdict>> = {
  starting: { ...ALL_ABSENT, kill: "cancel" },
  running: RUNNING,
  snapshotting: { ...RUNNING, kill: "wait", pause: "wait", snapshot: "wait" },
  pausing: { ...PAUSED, kill: "wait", connect: "wait", resume: "wait" },
  paused: PAUSED,
  resuming: {
    ...PAUSED,
    kill: "wait",
    connect: "wait",
    resume: "wait",
    setTimeout: "wait",
    refresh: "wait",
    pause: "wait",
    snapshot: "wait",
    updateNetwork: "wait",
    traffic: "wait",
  },
  killing: { ...ALL_ABSENT, connect: "conflict", resume: "conflict" },
};

/** States that a caller sees as running. */
export const RUNNING_STATES: readonly SandboxState[] = ["running", "snapshotting"];
/** States that a caller sees as paused. */
export const PAUSED_STATES: readonly SandboxState[] = ["pausing", "paused", "resuming"];

/** Look up what `call` does to a sandbox in `state`; a missing sandbox is `absent`. */
export function verdictOf(state: SandboxState | undefined, call: SandboxCall): Verdict {
  return state === undefined ? "absent" : TABLE[state][call];
}

/** @throws {@link SandboxNotFoundError} always. */
export function throwNotFound(sandboxId: string): never {
  throw new SandboxNotFoundError(`Sandbox "${sandboxId}" was not found; it ended or never existed`, { sandboxId });
}

const CONFLICTS: Partial<Record<SandboxState, string>> = {
  killing: "is being killed; create a new one",
  pausing: "is being paused; connect to it first",
  paused: "is paused; connect to it first",
  running: "runs already",
  snapshotting: "runs already",
};

/** @throws {@link FailedPreconditionError} always: the state of the sandbox does not allow the call. */
export function throwConflict(sandboxId: string, state: SandboxState): never {
  throw new FailedPreconditionError(`Sandbox "${sandboxId}" ${CONFLICTS[state] ?? `is ${state}; try again later`}`, { sandboxId });
}
