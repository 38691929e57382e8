import type { CommandOutcome } from "../errors/command-exit-error.js";

/** What a reader of output has to be told where connections cost some of it; `undefined` where nothing is known to be missing. */
export function describeMissingOutput({
  missingBytes,
  outputMayBeIncomplete,
}: Pick<CommandOutcome, "missingBytes" | "outputMayBeIncomplete">): string | undefined {
  if (missingBytes !== undefined) return `${missingBytes} bytes of output are missing because a connection broke`;
  return outputMayBeIncomplete ? "output may be missing because a connection broke" : undefined;
}
