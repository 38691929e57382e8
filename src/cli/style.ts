import { styleText } from "node:util";

type Look = "bold" | "dim" | "green" | "yellow" | "red";

/** Dress a text up for a terminal. */
export type Style = (look: Look, text: string) => string;

/** Colours for what goes to `stream`: none unless it is a terminal that shows them, and `NO_COLOR` is not set. */
export function styleFor(stream: { readonly isTTY?: boolean }, env: Readonly<Record<string, string | undefined>> = process.env): Style {
  const hasColours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  // Whether colours are wanted was decided in the line above; the function's own rule would take FORCE_COLOR into files.
  return (look, text) => (hasColours && text !== "" ? styleText(look, text, { validateStream: false }) : text);
}
