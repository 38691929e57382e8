/** Calls between the control plane and the daemon; nobody else makes them. */
const INTERNAL = new Set(["/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"]);

/** Decodings of a path until it is called hostile. */
const MAX_DECODINGS = 8;

/**
 * True when a request target leads to an internal call of the daemon, in whatever spelling: percent-encoded once or more often, with
 * repeated or trailing slashes, dot segments, or upper-case letters.
 */
export function isInternalPath(target: string): boolean {
  let path = pathOf(target);
  for (let round = 0; round < MAX_DECODINGS; round++) {
    if (INTERNAL.has(normalize(path))) return true;
    const decoded = decode(path);
    if (decoded === path) return false;
    path = decoded;
  }
  // No honest client encodes that often.
  return true;
}

function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

function decode(path: string): string {
  // Each well-formed escape on its own, so that a broken one elsewhere hides nothing.
  return path.replace(/%[0-9a-f]{2}/gi, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
}

function normalize(path: string): string {
  const kept: string[] = [];
  const parts = pathOf(path).replaceAll("\\", "/").toLowerCase().split("/");
  for (const part of parts) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part.split(";")[0]?.trim() ?? "");
  }
  return `/${kept.join("/")}`;
}
