import { constants } from "node:os";
import { SIGNAL_WORDS } from "../../shared/signal-words.js";

/** How a process ended, as wait(2) reports it. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: NodeJS.Signals | number };

/** `exit status N`, or `signal: ` and the signal in words. */
export function describeExit(exit: ExitStatus): string {
  if (exit.kind === "exited") return `exit status ${exit.code}`;
  if (typeof exit.signal === "number") return `signal: signal ${exit.signal}`;
  return `signal: ${SIGNAL_WORDS[exit.signal] ?? `signal ${constants.signals[exit.signal]}`}`;
}

/** Build from a signal number, where the terminal add-on reports one. */
export function signaledBy(number: number): ExitStatus {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  // The table of node:os has exactly the names that NodeJS.Signals lists.
  return { kind: "signaled", signal: (name as NodeJS.Signals | undefined) ?? number };
}

/** Decode the status that wait(2) reports for a process that ended. */
export function exitOfWait(status: number): ExitStatus {
  const signal = status & 0x7f;
  return signal === 0 ? { kind: "exited", code: (status >> 8) & 0xff } : signaledBy(signal);
}
