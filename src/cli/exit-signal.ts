import { constants } from "node:os";
import { SIGNAL_WORDS } from "../shared/signal-words.js";

/** The signal that ended a process, by what the daemon said about its end; `undefined` when it exited by itself. */
export function signalOfEnding(error: string | undefined): NodeJS.Signals | undefined {
  const match = /^signal: (?:signal (?<number>\d+)|(?<words>.+?))(?: \(core dumped\))?$/.exec(error ?? "");
  if (match === null) return undefined;
  const { number, words } = match.groups ?? {};
  if (words !== undefined && Object.hasOwn(constants.signals, words)) return words as NodeJS.Signals; // the table has exactly those names
  const named =
    number === undefined
      ? Object.entries(SIGNAL_WORDS).find(([, value]) => value === words)
      : Object.entries(constants.signals).find(([, value]) => value === Number(number));
  // Both tables have exactly the names that NodeJS.Signals lists.
  return named?.[0] as NodeJS.Signals | undefined;
}

/** Exit status that a shell gives for a program which ended so: its own, or 128 plus the number of the signal. */
export function exitStatusOf(exitCode: number, signal: NodeJS.Signals | undefined): number {
  return signal === undefined ? exitCode & 0xff : 128 + constants.signals[signal];
}
