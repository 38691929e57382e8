import { domainToASCII } from "node:url";

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_NAME = 253;
const NO_NAME = /[\p{Cc}\s/\\?#@:%[\]]/u;

/** A host name as all comparisons use it: ASCII, lower case, without the root's dot. `undefined` when the text is none. */
export function toHostName(text: string): string | undefined {
  // domainToASCII reads a URL, so what ends a host there would end it silently here.
  if (NO_NAME.test(text)) return undefined;
  const name = domainToASCII(text.replace(/\.$/, "")).toLowerCase();
  if (name === "" || name.length > MAX_NAME) return undefined;
  return name.split(".").every((label) => LABEL.test(label)) ? name : undefined;
}

/** A host name, or one behind a single leading `*.`, as all comparisons use it. `undefined` when the text is neither. */
export function toHostPattern(text: string): string | undefined {
  if (!text.startsWith("*.")) return toHostName(text);
  const name = toHostName(text.slice(2));
  return name === undefined ? undefined : `*.${name}`;
}

/** True when `pattern` names the host: itself, or for `*.` any name below at any depth, but not the name behind the `*.`. */
export function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1 : host === pattern;
}

/** The pattern that fits best: the exact name, else the longest `*.` name. */
export function bestMatch(patterns: Iterable<string>, host: string): string | undefined {
  return [...patterns].filter((pattern) => matchesHost(pattern, host)).sort((a, b) => rank(b) - rank(a))[0];
}

function rank(pattern: string): number {
  return pattern.startsWith("*.") ? pattern.length : Number.MAX_SAFE_INTEGER;
}
