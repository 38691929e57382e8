/** Some lines of a text. */
export interface LineWindow {
  /** The lines; with the end of the last one where the text ends there. */
  readonly text: string;
  /** Lines in `text`. */
  readonly count: number;
  /** Lines of the whole text; `undefined` where counting would take too long. */
  readonly totalLines: number | undefined;
}

export interface LineWindowOptions {
  /** Lines to leave out at the beginning. */
  readonly offset: number;
  readonly limit: number;
}

/** Characters of a window; of more, only whole lines that fit, but at least one. */
const MAX_WINDOW_LENGTH = 1024 * 1024;
/** Bytes that are read behind the window to count the lines. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;

/** Cut some lines out of a text as it comes. What is kept is bounded, whatever the text is; leaving early ends the source. */
export async function readLineWindow(chunks: AsyncIterable<Uint8Array>, { offset, limit }: LineWindowOptions): Promise<LineWindow> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const lines: string[] = [];
  let length = 0;
  let isFull = limit === 0;
  let index = 0;
  let current = "";
  let currentLength = 0;
  let countedBytes = 0;

  /** Parts of the line with this index are kept only inside the window. */
  const isInside = () => !isFull && index >= offset;
  const addPart = (part: string) => {
    currentLength += part.length;
    if (isInside()) current += part.slice(0, MAX_WINDOW_LENGTH - current.length);
  };
  const endLine = () => {
    if (isInside()) {
      const left = currentLength - current.length;
      if (lines.length > 0 && length + current.length > MAX_WINDOW_LENGTH) isFull = true;
      else {
        lines.push(left === 0 ? current : `${current.replace(/[\uD800-\uDBFF]$/, "")}[… ${left} characters of this line left out …]`);
        length += current.length + 1;
        isFull = lines.length === limit;
      }
    }
    current = "";
    currentLength = 0;
    index += 1;
  };
  const addText = (text: string) => {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      addPart(text.slice(from, end));
      endLine();
      from = end + 1;
    }
    addPart(text.slice(from));
  };

  for await (const chunk of chunks) {
    if (isFull) countedBytes += chunk.length;
    if (countedBytes > MAX_COUNTED_BYTES) return { text: lines.join("\n"), count: lines.length, totalLines: undefined };
    addText(decoder.decode(chunk, { stream: true }));
  }
  addText(decoder.decode());
  const endsWithLine = currentLength === 0;
  const isAtEnd = isInside();
  if (!endsWithLine) endLine();
  const text = lines.join("\n");
  return { text: endsWithLine && isAtEnd && lines.length > 0 ? `${text}\n` : text, count: lines.length, totalLines: index };
}
