import { FailedPreconditionError, SandboxNotFoundError } from "../errors/error-classes.js";

/** States of a sandbox, in the order of its life. A killed sandbox has no record. */
export type SandboxState = "starting" | "running" | "killing";

/** Calls whose permission depends on the state. */
export type SandboxCall = "info" | "list" | "kill" | "connect" | "setTimeout" | "refresh" | "traffic" | "updateNetwork";

/**
 * What a call does in a state.
 *
 * `allow` goes on; `absent` answers as if there were no sandbox; `cancel` ends a creation that still runs; `conflict` is refused and may
 * be repeated later.
 */
export type Verdict = "allow" | "absent" | "cancel" | "conflict";

const TABLE: Record<SandboxState, Record<SandboxCall, Verdict>> = {
  starting: {
    info: "absent",
    list: "absent",
    kill: "cancel",
    connect: "absent",
    setTimeout: "absent",
    refresh: "absent",
    traffic: "absent",
    updateNetwork: "absent",
  },
  running: {
    info: "allow",
    list: "allow",
    kill: "allow",
    connect: "allow",
    setTimeout: "allow",
    refresh: "allow",
    traffic: "allow",
    updateNetwork: "allow",
  },
  killing: {
    info: "absent",
    list: "absent",
    kill: "absent",
    connect: "conflict",
    setTimeout: "absent",
    refresh: "absent",
    traffic: "absent",
    updateNetwork: "absent",
  },
};

/** Look up what `call` does to a sandbox in `state`; a missing sandbox is `absent`. */
export function verdictOf(state: SandboxState | undefined, call: SandboxCall): Verdict {
  return state === undefined ? "absent" : TABLE[state][call];
}

/**
 * Turn a verdict other than `allow` and `cancel` into the error of the contract.
 *
 * @throws {@link SandboxNotFoundError} absent; {@link FailedPreconditionError} in conflict.
 */
export function assertAllowed(sandboxId: string, state: SandboxState | undefined, call: SandboxCall): void {
  const verdict = verdictOf(state, call);
  if (verdict === "absent")
    throw new SandboxNotFoundError(`Sandbox "${sandboxId}" was not found; it ended or never existed`, { sandboxId });
  if (verdict === "conflict") {
    throw new FailedPreconditionError(`Sandbox "${sandboxId}" is being ${state === "killing" ? "killed" : state}; create a new one`, {
      sandboxId,
    });
  }
}
