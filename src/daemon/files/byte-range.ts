import type { IncomingHttpHeaders } from "node:http";

/** What part of a file to send. */
export type RangeChoice =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly start: number; readonly length: number }
  | { readonly kind: "unsatisfiable" };

/** The version of a file, as conditions compare it. */
export interface Validators {
  readonly etag: string;
  /** Whole seconds, as HTTP dates have them. */
  readonly modifiedSeconds: number;
}

/** The request depends on a range or on a version of the file, so its bytes must be those of the file: no coding. */
export function isConditional(headers: IncomingHttpHeaders): boolean {
  return ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"].some((name) => name in headers);
}

/** Evaluate the conditions in the order of RFC 9110, section 13.2.2: the status to answer without a body, `undefined` to go on. */
export function checkConditions(headers: IncomingHttpHeaders, file: Validators): 304 | 412 | undefined {
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = headers;
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, file.etag)) return 412;
  } else if (isOlder(headers["if-unmodified-since"], file)) {
    return 412;
  }
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, file.etag) ? 304 : undefined;
  const since = seconds(headers["if-modified-since"]);
  return since !== undefined && file.modifiedSeconds <= since ? 304 : undefined;
}

/**
 * Evaluate `Range` and `If-Range` (RFC 9110, section 14.2) for a file of `size` bytes. Several ranges, other units and malformed ones
 * are ignored, as the RFC permits: the whole file is sent.
 */
export function chooseRange(headers: IncomingHttpHeaders, size: number, file: Validators): RangeChoice {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(headers.range ?? "");
  if (match === null || (match[1] === "" && match[2] === "")) return { kind: "whole" };
  const ifRange = headers["if-range"];
  if (typeof ifRange === "string" && ifRange !== file.etag && seconds(ifRange) !== file.modifiedSeconds) return { kind: "whole" };
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? { kind: "unsatisfiable" } : { kind: "part", start: size - length, length };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== "" && Number(match[2]) < start) return { kind: "whole" };
  return start >= size ? { kind: "unsatisfiable" } : { kind: "part", start, length: end - start + 1 };
}

function matches(header: string, etag: string): boolean {
  return header.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

function isOlder(header: string | undefined, file: Validators): boolean {
  const since = seconds(header);
  return since !== undefined && file.modifiedSeconds > since;
}

function seconds(httpDate: string | undefined): number | undefined {
  const time = Date.parse(httpDate ?? "");
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}
