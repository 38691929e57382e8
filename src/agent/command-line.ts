import type { Commands } from "../sandbox/commands.js";

/** The line of a running command as it was given to `commands`, or the words of a process that is no line of a shell. */
export function toCommandLine({ cmd, args }: Awaited<ReturnType<Commands["list"]>>[number]): string {
  return args[0] === "-l" && args[1] === "-c" ? (args[2] ?? "") : [cmd, ...args].join(" ");
}
