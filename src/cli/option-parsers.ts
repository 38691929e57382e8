import { InvalidArgumentError as OptionError } from "commander";

/** A whole decimal number of at least 0, written plainly: no sign, exponent, unit or leading zero. */
export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^(0|[1-9]\d*)$/.test(text) || !Number.isSafeInteger(value)) throw new OptionError("It must be a whole number, such as 300.");
  return value;
}

/** A TCP port; 0 lets the system choose. */
export function parsePort(text: string): number {
  const value = parseWholeNumber(text);
  if (value > 65_535) throw new OptionError("It must be a port from 0 to 65535.");
  return value;
}

/** Collects `KEY=VALUE` options; the value is everything after the first `=`. */
export function collectPair(text: string, previous: Readonly<Record<string, string>> = {}): Record<string, string> {
  const split = text.indexOf("=");
  if (split < 1) throw new OptionError("It must look like KEY=VALUE.");
  return { ...previous, [text.slice(0, split)]: text.slice(split + 1) };
}

/** Collects the values of an option that may be repeated. */
export function collectText(text: string, previous: readonly string[] = []): string[] {
  return [...previous, text];
}
