import { InvalidArgumentError } from "../errors/error-classes.js";

/**
 * The words of a command line, with quotes and backslashes read as a POSIX shell reads them (Shell Command Language 2.2) and everything
 * else as it stands: nothing is expanded, and `|`, `;` or `>` are characters of words.
 *
 * @throws {@link InvalidArgumentError} a quote is not closed, or the line ends in a backslash.
 */
export function splitShellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let index = 0; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === "'") {
      const end = line.indexOf("'", index + 1);
      if (end < 0) throw new InvalidArgumentError("a quote (') of the command is not closed");
      word = (word ?? "") + line.slice(index + 1, end);
      index = end;
    } else if (character === '"') {
      const [text, end] = readDoubleQuoted(line, index + 1);
      word = (word ?? "") + text;
      index = end;
    } else if (character === "\\") {
      index += 1;
      if (index >= line.length) throw new InvalidArgumentError("the command ends in a backslash");
      word = (word ?? "") + line.charAt(index);
    } else {
      word = (word ?? "") + character;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** In double quotes a backslash is one, except before the characters that it can take their meaning from. */
function readDoubleQuoted(line: string, start: number): [text: string, end: number] {
  let text = "";
  for (let index = start; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (character === '"') return [text, index];
    if (character === "\\" && /[\\"$`]/.test(line.charAt(index + 1))) {
      index += 1;
      text += line.charAt(index);
    } else {
      text += character;
    }
  }
  throw new InvalidArgumentError('a quote (") of the command is not closed');
}
