import { InvalidArgumentError } from "../errors/error-classes.js";

export interface EditedText {
  readonly text: string;
  /** Places that were replaced. */
  readonly count: number;
  /** Line of the first, from 1. */
  readonly line: number;
}

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** Replace each that is found; else there must be exactly one. */
  readonly replaceAll: boolean;
}

/** What the caller of a tool calls the members of an edit, for messages. */
export interface EditNames {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: string;
}

const TOOL_NAMES: EditNames = { oldText: "old_text", newText: "new_text", replaceAll: "replace_all" };

/**
 * Replace a piece of text that must be found exactly once, or each that is found.
 *
 * @throws {@link InvalidArgumentError} it is not there, or several times; the message says where to look.
 */
export function editText(text: string, { oldText, newText, replaceAll }: TextEdit, names: EditNames = TOOL_NAMES): EditedText {
  if (oldText === "") throw new InvalidArgumentError(`${names.oldText} is empty; write_file replaces the whole file`);
  if (oldText === newText) throw new InvalidArgumentError(`${names.oldText} and ${names.newText} are the same`);
  // Places that overlap are several to choose from, but only one after another can be replaced.
  const places = findAll(text, oldText, replaceAll ? oldText.length : 1);
  const [first] = places;
  if (first === undefined)
    throw new InvalidArgumentError(`${names.oldText} is not found in the file${nearby(text, oldText)}; read the file and copy it exactly`);
  if (places.length > 1 && !replaceAll) {
    const lines = places.slice(0, 10).map((place) => lineOf(text, place));
    throw new InvalidArgumentError(
      `${names.oldText} is in the file multiple times: ${places.length} times, in lines ${lines.join(", ")}${places.length > 10 ? " and more" : ""}; ` +
        `give more lines around it, or set ${names.replaceAll}`,
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
