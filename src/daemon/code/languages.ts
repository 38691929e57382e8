import { InvalidArgumentError } from "../../errors/error-classes.js";

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

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether executions in a language may have variables of their own. */
export function takesVariables(language: string): boolean {
  return OWN.has(language);
}

/**
 * Refuse variables that the kernel of a language cannot have for one execution.
 *
 * @throws {@link InvalidArgumentError} naming the language.
 */
export function assertVariables(language: string, names: readonly string[]): void {
  if (names.length > 0 && !takesVariables(language)) {
    throw new InvalidArgumentError(
      `the kernel of '${language}' takes no variables for one execution; give them to the creation of the sandbox, or set them in the code`,
    );
  }
  const bad = language === "bash" ? names.find((name) => !SHELL_NAME.test(name)) : undefined;
  if (bad !== undefined) throw new InvalidArgumentError(`'${bad}' cannot be the name of a variable in Bash`);
}
