import type { CommandOutcome } from "../errors/command-exit-error.js";

/** Numbers of the signals that the wire has words for, which are the same on x86 and ARM (signal(7)). */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  ...{ SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11 },
  ...{ SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGXCPU: 24, SIGXFSZ: 25, SIGSYS: 31 },
};

/** Exit status as a shell tells it: what the program gave, or 128 plus the number of the signal that ended it. */
export function exitStatusOf({ exitCode, signal }: Pick<CommandOutcome, "exitCode" | "signal">): number {
  return signal === undefined ? exitCode : 128 + (SIGNAL_NUMBERS[signal] ?? 0);
}
