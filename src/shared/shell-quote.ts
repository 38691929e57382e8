/** Characters that no POSIX shell gives a meaning, at any place of a word. */
const PLAIN = /^[A-Za-z0-9_@%+:,./-]+$/;

/**
 * Quote one word so that a POSIX shell passes it on as it is (POSIX.1-2024, Shell Command Language 2.2.2 "Single-Quotes").
 *
 * @throws `TypeError` the word holds NUL, which no argument of a process can hold.
 */
export function quoteShellWord(word: string): string {
  if (word.includes("\0")) throw new TypeError("a shell word cannot hold a NUL character");
  return PLAIN.test(word) ? word : inSingleQuotes(word);
}

/**
 * A command line that runs `words[0]` with the other words as its arguments, each as it is.
 *
 * @throws `TypeError` there is no word, or one holds NUL.
 */
export function quoteShellCommand(words: readonly string[]): string {
  const [command, ...args] = words.map(quoteShellWord);
  if (command === undefined) throw new TypeError("a command line needs at least one word");
  // A bare first word may be a reserved word, such as `time` or `if`; in quotes it is only ever a command.
  return [command.startsWith("'") ? command : inSingleQuotes(command), ...args].join(" ");
}

function inSingleQuotes(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
