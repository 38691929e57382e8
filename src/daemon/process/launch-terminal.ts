import { closeSync } from "node:fs";
import { InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import { messageOf } from "../../shared/message-of.js";
import type { PtyAddon } from "../pty-addon.js";
import { signaledBy } from "./exit-status.js";
import { type Launched, type LaunchPlan, type LaunchSink, preferForOom } from "./launch.js";
import { openTerminalSource } from "./output-source.js";
import { TerminalInput } from "./terminal-input.js";
import { switchUser } from "./user-switch.js";

/** Size of a terminal in character cells. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export const DEFAULT_TERMINAL_SIZE: TerminalSize = { cols: 80, rows: 24 };

/** The kernel limit for all arguments is a quarter of the stack's; a terminal cannot report it, so stay below its usual value of 2 MiB. */
const MAX_TOTAL_ARGUMENT_BYTES = 2_000_000;

/**
 * @throws {@link InvalidArgumentError} a dimension is 0 or above the 16 bits that the kernel has for it.
 */
export function assertTerminalSize(size: TerminalSize): void {
  for (const [name, value] of [
    ["cols", size.cols],
    ["rows", size.rows],
  ] as const) {
    if (!Number.isInteger(value) || value < 1 || value > 65_535) {
      throw new InvalidArgumentError(`terminal size ${size.cols}x${size.rows} is not possible: ${name} must be between 1 and 65535`);
    }
  }
}

/** Start a program on a new terminal, as the leader of a new session. */
export function launchTerminal(plan: LaunchPlan, size: TerminalSize, sink: LaunchSink, addon: PtyAddon, readBuffer: Buffer): Launched {
  const { file, args, env: variables, ids } = switchUser(plan, false);
  const env = Array.from(variables, ([name, value]) => `${name}=${value}`);
  const totalBytes = [...env, file, ...args].reduce((sum, text) => sum + Buffer.byteLength(text) + 9, 0);
  if (totalBytes > MAX_TOTAL_ARGUMENT_BYTES) {
    throw new InvalidArgumentError(
      `arguments and environment together exceed the size limit of ${MAX_TOTAL_ARGUMENT_BYTES} bytes: pass large data in a file`,
    );
  }
  // A program that closes its terminal before it exits (every one whose output is flushed at exit does) must not be hung up: that would kill
  // it with SIGHUP on its last steps. So the controlling side stays open until the exit.
  let heldFd: number | undefined;
  const onExit = (code: number, signal: number) => {
    if (heldFd !== undefined) closeSync(heldFd);
    heldFd = undefined;
    sink.onExit(signal > 0 ? signaledBy(signal) : { kind: "exited", code });
  };
  let forked: ReturnType<PtyAddon["fork"]>;
  try {
    forked = addon.fork(file, [...args], env, plan.cwd, size.cols, size.rows, ids?.uid ?? -1, ids?.gid ?? -1, true, "", onExit);
  } catch (cause) {
    throw new InternalError(`no terminal can be opened: ${messageOf(cause)}`, { cause });
  }
  try {
    heldFd = addon.duplicate(forked.fd);
  } catch (error) {
    closeSync(forked.fd);
    throw error;
  }
  preferForOom(forked.pid);
  const source = openTerminalSource(forked.fd, sink, readBuffer);
  return {
    pid: forked.pid,
    sources: [source],
    input: new TerminalInput(() => heldFd),
    // The descriptor that is read may be closed already, and its number taken by something else.
    resize: (cols, rows) => void (heldFd !== undefined && addon.resize(heldFd, cols, rows)),
  };
}
