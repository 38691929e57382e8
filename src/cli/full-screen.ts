import { openLocalTerminal } from "./local-terminal.js";
import { writeOut } from "./output.js";

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const ERASE_REST_OF_LINE = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

/** The terminal's second screen, which is left as it was found on disposal. */
export interface FullScreen extends AsyncDisposable {
  /** Show these lines; what does not fit is cut. `look` dresses up a line after it was cut. */
  draw(lines: readonly string[], look?: (line: string, index: number) => string): Promise<void>;
}

/** Take the whole terminal. `onKey` gets what is typed, `onResize` is called when the window has another size. */
export async function openFullScreen(onKey: (key: string) => void, onResize: () => void): Promise<FullScreen> {
  const terminal = openLocalTerminal();
  const attached = terminal.attach({
    onInput: async (data) => onKey(Buffer.from(data).toString("latin1")),
    onInputEnd: async () => onKey(""),
    onResize: async () => onResize(),
  });
  const leave = (): void => void process.stdout.write(LEAVE);
  // An uncaught failure ends the process without disposing anything.
  process.once("exit", leave);
  await writeOut(ENTER);
  return {
    draw: async (lines, look = (line) => line) => {
      const { cols, rows } = terminal.size();
      const shown = lines.slice(0, rows).map((line, index) => look(line.slice(0, cols), index) + ERASE_REST_OF_LINE);
      await writeOut(HOME + shown.join("\r\n") + ERASE_BELOW);
    },
    [Symbol.asyncDispose]: async () => {
      process.off("exit", leave);
      attached[Symbol.dispose]();
      await writeOut(LEAVE);
    },
  };
}
