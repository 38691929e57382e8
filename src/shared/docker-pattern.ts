/**
 * Patterns of `.dockerignore` and COPY (docs.docker.com, "Build context", `.dockerignore` files; Go's filepath.Match): anchored at the context,
 * `*` and `?` within a name, `[…]` classes, `**` over any number of directories.
 */
export function dockerPattern(pattern: string): RegExp {
  let source = "";
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern.charAt(index);
    if (character === "*" && pattern[index + 1] === "*") {
      index += 1;
      if (pattern[index + 1] === "/") {
        index += 1;
        source += "(?:[^/]+/)*";
      } else source += ".*";
    } else if (character === "*") source += "[^/]*";
    else if (character === "?") source += "[^/]";
    else if (character === "[") {
      const end = pattern.indexOf("]", index + 2);
      if (end < 0) source += "\\[";
      else {
        const set = pattern.slice(index + 1, end).replace(/\\(?!.)/g, "\\\\");
        source += `(?!/)[${set.replace(/\[/g, "\\[")}]`;
        index = end;
      }
    } else if (character === "\\" && index + 1 < pattern.length) {
      index += 1;
      source += escapeCharacter(pattern.charAt(index));
    } else source += escapeCharacter(character);
  }
  return new RegExp(`^${source}$`, "su");
}

/** True when the text has a character that makes it a pattern. */
export function isDockerPattern(text: string): boolean {
  return /[*?[]/.test(text);
}

/** Decides which files of a context are left out; the last rule that matches a path or one of its parents decides, `!` takes back. */
export class DockerIgnore {
  readonly #rules: readonly { readonly match: RegExp; readonly isException: boolean }[];

  /** @param lines of `.dockerignore`: empty lines and those that begin with `#` do not count. */
  constructor(lines: readonly string[]) {
    this.#rules = lines.flatMap((line) => {
      if (line.startsWith("#")) return [];
      const text = line.trim();
      const isException = text.startsWith("!");
      const path = normalise(isException ? text.slice(1).trim() : text);
      return path === "" ? [] : [{ match: dockerPattern(path), isException }];
    });
  }

  /** True when an ignored directory may still hold files that are not. */
  get hasExceptions(): boolean {
    return this.#rules.some(({ isException }) => isException);
  }

  /** `path` is relative to the context, with `/` between names. */
  isIgnored(path: string): boolean {
    const names = path.split("/");
    const prefixes = names.map((_, index) => names.slice(0, index + 1).join("/"));
    let isIgnored = false;
    for (const { match, isException } of this.#rules) {
      if (isIgnored === isException && prefixes.some((prefix) => match.test(prefix))) isIgnored = !isException;
    }
    return isIgnored;
  }
}

/** As Go's filepath.Clean, without slashes at either end. */
function normalise(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return names.join("/");
}

function escapeCharacter(character: string): string {
  return /[\\^$.|?*+()[\]{}/-]/.test(character) ? (character === "-" ? "-" : `\\${character}`) : character;
}
