/** Names that mean a language of ours. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["js", "javascript"],
  ["node", "javascript"],
  ["nodejs", "javascript"],
  ["py", "python"],
  ["python3", "python"],
  ["sh", "bash"],
  ["shell", "bash"],
  ["ts", "typescript"],
]);

/** Languages whose kernels take variables with an execution. */
const OWN: ReadonlySet<string> = new Set(["python", "javascript", "typescript", "bash"]);

export const DEFAULT_LANGUAGE = "python";

/** The one name of a language. */
export function toLanguage(name: string | null | undefined): string {
  const plain = (name ?? "").trim().toLowerCase() || DEFAULT_LANGUAGE;
  return ALIASES.get(plain) ?? plain;
}

export function takesVariables(language: string): boolean {
  return OWN.has(language);
}
