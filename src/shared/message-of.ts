/** The text of anything thrown, for a log line or for the message of an error that wraps it. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
