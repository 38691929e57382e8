import type { InstructionsOption } from "@mastra/core/workspace";

/** What Mastra tells a provider about the call that its instructions are for. */
export interface InstructionsContext {
  readonly requestContext?: Parameters<Exclude<InstructionsOption, string>>[0]["requestContext"];
}

/** The instructions of a provider: its own, replaced or changed by what its user gave. */
export function toInstructions(
  option: InstructionsOption | undefined,
  defaultInstructions: string,
  context: InstructionsContext = {},
): string {
  if (option === undefined) return defaultInstructions;
  if (typeof option === "string") return option;
  const { requestContext } = context;
  return option({ defaultInstructions, ...(requestContext !== undefined && { requestContext }) });
}
