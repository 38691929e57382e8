import { boundText } from "../bounded-text.js";

/** Bytes of a token as the framework counts them. */
const BYTES_PER_TOKEN = 4;

/** What a model is told about a command. */
export interface ExecReport {
  readonly output: string;
  readonly wallTimeSeconds: number;
  /** Set while the command runs. */
  readonly sessionId?: number | undefined;
  /** Set once it has ended. */
  readonly exitCode?: number | null | undefined;
  readonly originalTokenCount?: number | undefined;
}

/** The text of a report, with the lines that the framework's capabilities read. */
export function toExecText({ output, wallTimeSeconds, sessionId, exitCode, originalTokenCount }: ExecReport): string {
  return [
    `Chunk ID: ${crypto.randomUUID().slice(0, 6)}`,
    `Wall time: ${wallTimeSeconds.toFixed(4)} seconds`,
    ...(sessionId === undefined ? [] : [`Process running with session ID ${sessionId}`]),
    ...(typeof exitCode === "number" ? [`Process exited with code ${exitCode}`] : []),
    ...(originalTokenCount === undefined ? [] : [`Original token count: ${originalTokenCount}`]),
    "Output:",
    output,
  ].join("\n");
}

/** Hold output to a number of tokens: beginning and end, and how many there were where something is left out. */
export function boundTokens(
  output: string,
  maxTokens: number | undefined,
): { readonly output: string; readonly originalTokenCount?: number } {
  if (maxTokens === undefined) return { output };
  const sizeBytes = new TextEncoder().encode(output).length;
  const maxBytes = Math.max(0, maxTokens) * BYTES_PER_TOKEN;
  if (sizeBytes <= maxBytes) return { output };
  // Characters of this text have this many bytes on average.
  const maxLength = Math.floor((maxBytes * output.length) / sizeBytes);
  return { output: boundText(output, maxLength), originalTokenCount: Math.ceil(sizeBytes / BYTES_PER_TOKEN) };
}
