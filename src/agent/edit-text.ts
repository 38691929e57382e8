import { InvalidArgumentError } from "../errors/error-classes.js";

export interface EditedText {
  readonly text: string;
  /** Places that were replaced. */
  readonly count: number;
  /** Line of the first, from 1. */
  readonly line: number;
}

/**
 * Replace a piece of text that must be found exactly once, or each that is found.
 *
 * @throws {@link InvalidArgumentError} it is not there, or several times; the message says where to look.
 */
export function editText(text: string, oldText: string, newText: string, replaceAll: boolean): EditedText {
  if (oldText === "") throw new InvalidArgumentError("old_text is empty; write_file replaces the whole file");
  if (oldText === newText) throw new InvalidArgumentError("old_text and new_text are the same");
  // Places that overlap are several to choose from, but only one after another can be replaced.
  const places = findAll(text, oldText, replaceAll ? oldText.length : 1);
  const [first] = places;
  if (first === undefined)
    throw new InvalidArgumentError(`old_text is not in the file${nearby(text, oldText)}; read the file and copy it exactly`);
  if (places.length > 1 && !replaceAll) {
    const lines = places.slice(0, 10).map((place) => lineOf(text, place));
    throw new InvalidArgumentError(
      `old_text is in the file ${places.length} times, in lines ${lines.join(", ")}${places.length > 10 ? " and more" : ""}; ` +
        "give more lines around it, or set replace_all",
    );
  }
  return { text: text.split(oldText).join(newText), count: places.length, line: lineOf(text, first) };
}

function findAll(text: string, part: string, step: number): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + step)) places.push(at);
  return places;
}

/** The most common mistake of models is white space. */
function nearby(text: string, oldText: string): string {
  const wanted = oldText.split("\n").map((line) => line.trim());
  const lines = text.split("\n").map((line) => line.trim());
  const at = lines.findIndex((_, index) => wanted.every((line, offset) => lines[index + offset] === line));
  return at === -1 ? "" : `, but from line ${at + 1} on there is one that differs in white space only`;
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
