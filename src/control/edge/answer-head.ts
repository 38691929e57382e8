import { ProtocolError } from "../../errors/error-classes.js";

/** Largest head of an answer, whoever reads it: that of Node's client, 16 KiB, is less than its servers may send. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** Head of an HTTP/1.1 answer. */
export interface AnswerHead {
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn, without those of the connection. */
  readonly headers: string[];
  /** Length of the body; `undefined` when the answer does not say it plainly. */
  readonly bodyBytes: number | undefined;
  /** The body comes in chunks, and in no other coding. */
  readonly isChunked: boolean;
  readonly isKeptAlive: boolean;
}

const STATUS_LINE = /^HTTP\/1\.1 ([2-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const FIELD_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;
/** And how the body is framed, which our own answer says for itself. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer"]);

/**
 * Read the head of an answer, without the empty line.
 *
 * @throws {@link ProtocolError} not a head; the peer may be hostile, so nothing is guessed.
 */
export function parseAnswerHead(text: string): AnswerHead {
  const [statusLine = "", ...fieldLines] = text.split("\r\n");
  const status = STATUS_LINE.exec(statusLine);
  if (status === null) throw new ProtocolError("the daemon sent a malformed status line");
  const fields: { readonly name: string; readonly key: string; readonly value: string }[] = [];
  const ofConnection = new Set(OF_CONNECTION);
  const lengths: string[] = [];
  const codings: string[] = [];
  let isKeptAlive = true;
  for (const line of fieldLines) {
    const field = FIELD_LINE.exec(line);
    if (field === null) throw new ProtocolError("the daemon sent a malformed header");
    const [, name = "", value = ""] = field;
    const key = name.toLowerCase();
    if (key === "content-length") lengths.push(value);
    if (key === "transfer-encoding") codings.push(value.toLowerCase());
    if (key === "connection") {
      const options = value
        .toLowerCase()
        .split(",")
        .map((option) => option.trim());
      if (options.includes("close")) isKeptAlive = false;
      // What it names is of the connection too, except what the body depends on.
      for (const option of options) if (option !== "content-length") ofConnection.add(option);
    }
    fields.push({ name, key, value });
  }
  const code = Number(status[1]);
  return {
    status: code,
    statusText: status[2] ?? "",
    headers: fields.flatMap(({ name, key, value }) => (ofConnection.has(key) ? [] : [name, value])),
    bodyBytes: codings.length > 0 ? undefined : bodyBytesOf(code, lengths),
    isChunked: codings.length === 1 && codings[0] === "chunked" && lengths.length === 0 && code !== 204 && code !== 304,
    isKeptAlive,
  };
}

function bodyBytesOf(status: number, lengths: readonly string[]): number | undefined {
  if (status === 204 || status === 304) return 0;
  const [length] = lengths;
  if (lengths.length !== 1 || length === undefined || !/^\d{1,15}$/.test(length)) return undefined;
  return Number(length);
}
