/**
 * The headers by which a trace goes on in another program (https://www.w3.org/TR/trace-context/, https://www.w3.org/TR/baggage/), as far as
 * they are valid. Each is one short line of printable ASCII, so it may stand in a header and in an environment.
 */
export interface TraceContext {
  readonly traceparent?: string;
  /** Only beside `traceparent`. */
  readonly tracestate?: string;
  readonly baggage?: string;
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ONLY_ZEROS = /^0+$/;
const MAX_PARENT_LENGTH = 256;

const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER = /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

const MAX_BAGGAGE_LENGTH = 8_192;
const MAX_BAGGAGE_MEMBERS = 180;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const OCTETS = "[!#-+\\--:<-\\[\\]-~]*";
const BAGGAGE_ENTRY = new RegExp(`^${TOKEN}=${OCTETS}$`);
const BAGGAGE_PROPERTY = new RegExp(`^${TOKEN}(?:=${OCTETS})?$`);

/**
 * Read the context of a request. What is malformed or above the limits of the standards counts as absent: it came from a stranger, and
 * tracing must neither fail a call nor carry anything else.
 *
 * @param header value of a header by its lower-case name
 */
export function readTraceContext(header: (name: string) => unknown): TraceContext {
  const traceparent = readParent(header("traceparent"));
  const tracestate = traceparent === undefined ? undefined : readState(header("tracestate"));
  const baggage = readBaggage(header("baggage"));
  return {
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage }),
  };
}

/** The same as variables of a process: `TRACEPARENT`, `TRACESTATE`, `BAGGAGE`. */
export function readTraceVariables(header: (name: string) => unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(readTraceContext(header)).map(([name, value]) => [name.toUpperCase(), value]));
}

/** A later version may say more behind a dash; what this one knows of it is passed on as version 00. */
function readParent(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_PARENT_LENGTH) return undefined;
  const [, version = "ff", traceId = "0", spanId = "0", flags = "00", more] = PARENT.exec(value.trim()) ?? [];
  if (version === "ff" || (version === "00" && more !== undefined) || ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined;
  return `00-${traceId}-${spanId}-${flags}`;
}

function readState(value: unknown): string | undefined {
  const members = split(value, MAX_STATE_LENGTH, MAX_STATE_MEMBERS);
  if (members === undefined || !members.every((member) => STATE_MEMBER.test(member))) return undefined;
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf("="))));
  return keys.size === members.length ? members.join(",") : undefined;
}

function readBaggage(value: unknown): string | undefined {
  const members = split(value, MAX_BAGGAGE_LENGTH, MAX_BAGGAGE_MEMBERS)?.map((member) => member.split(";").map(withoutSpace));
  const isValid = members?.every(([entry = "", ...properties]) => {
    return BAGGAGE_ENTRY.test(entry) && properties.every((property) => BAGGAGE_PROPERTY.test(property));
  });
  return isValid ? members?.map((parts) => parts.join(";")).join(",") : undefined;
}

function withoutSpace(part: string): string {
  const at = part.indexOf("=");
  return at < 0 ? part.trim() : `${part.slice(0, at).trim()}=${part.slice(at + 1).trim()}`;
}

/** The members of a list; empty ones are allowed and mean nothing. `undefined` when there is none, or too much. */
function split(value: unknown, maxLength: number, maxMembers: number): readonly string[] | undefined {
  if (typeof value !== "string" || value.length > maxLength) return undefined;
  const members = value.split(",").flatMap((member) => member.trim() || []);
  return members.length > 0 && members.length <= maxMembers ? members : undefined;
}
