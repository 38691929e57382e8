import { InvalidArgumentError } from "../../errors/error-classes.js";

/** One instruction of a Dockerfile. */
export interface DockerInstruction {
  /** In capitals. */
  readonly name: string;
  /** Without the name, continuation lines joined. */
  readonly text: string;
  /** Body of a here-document that follows; `undefined` when there is none. */
  readonly heredoc: string | undefined;
  /** Counted from 1. */
  readonly line: number;
}

const HEREDOC = /<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/;

/**
 * Split a Dockerfile into instructions (docs.docker.com, "Dockerfile reference", "Format" and "Here-Documents"): comments go, lines that end
 * with the escape character are joined, also across comments between them.
 *
 * @throws {@link InvalidArgumentError} a here-document without an end.
 */
export function parseDockerfile(content: string): DockerInstruction[] {
  const lines = content.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const escapeCharacter = escapeOf(lines);
  const instructions: DockerInstruction[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    if (isBlank(lines[index])) continue;
    const line = index + 1;
    let text = "";
    for (; index < lines.length; index += 1) {
      const current = lines[index] ?? "";
      if (text !== "" && isBlank(current)) continue;
      const isContinued = current.trimEnd().endsWith(escapeCharacter);
      text += isContinued ? current.trimEnd().slice(0, -1) : current;
      if (!isContinued) break;
    }
    const match = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(text);
    if (match === null) throw refuse(line, `"${text.trim().slice(0, 60)}" is no instruction`);
    const name = String(match[1]).toUpperCase();
    const rest = (match[2] ?? "").trim();
    const mark = ["RUN", "COPY", "ADD"].includes(name) ? HEREDOC.exec(rest) : null;
    let heredoc: string | undefined;
    if (mark !== null) {
      const body: string[] = [];
      const isIndented = mark[1] === "-";
      const read = (raw: string) => (isIndented ? raw.replace(/^\t+/, "") : raw);
      for (index += 1; index < lines.length && read(lines[index] ?? "") !== mark[3]; index += 1) body.push(read(lines[index] ?? ""));
      if (index >= lines.length) throw refuse(line, `the here-document ${mark[3]} has no end`);
      heredoc = body.map((text) => `${text}\n`).join("");
    }
    instructions.push({ name, text: rest, heredoc, line });
  }
  return instructions;
}

/** The error for a line of a Dockerfile. */
export function refuse(line: number, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Dockerfile line ${line}: ${what}`, { operation: "template.fromDockerfile" });
}

/** The JSON form `["a", "b"]`; `undefined` when the text is not one. */
export function parseJsonForm(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((word) => typeof word === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Words as the builder splits them: at blanks outside of quotes; quotes go, a backslash keeps the next character. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/(?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/g)) words.push(match[0]);
  return words;
}

/** Replace `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}`, and take quotes away as the builder does. */
export function expand(word: string, variables: ReadonlyMap<string, string>): string {
  return word.replace(
    /'([^']*)'|\\([\s\S])|\$\{([A-Za-z_]\w*)(?::?([-+])([^}]*))?\}|\$([A-Za-z_]\w*)|"/g,
    (match, single, escaped, braced, sign, other, bare) => {
      if (single !== undefined) return single as string;
      if (escaped !== undefined) return escaped as string;
      if (match === '"') return "";
      const value = variables.get((braced ?? bare) as string) ?? "";
      if (sign === "-") return value === "" ? (other as string) : value;
      if (sign === "+") return value === "" ? "" : (other as string);
      return value;
    },
  );
}

function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const directive = /^#\s*([a-z]+)\s*=\s*(\S+)\s*$/i.exec(line);
    if (directive === null) break;
    if (directive[1]?.toLowerCase() === "escape" && directive[2] === "`") return "`";
  }
  return "\\";
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || /^\s*(#.*)?$/.test(line);
}
