import { InvalidArgumentError } from "../../errors/error-classes.js";
import { quoteShellWord } from "../../shared/shell-quote.js";

/** A command that ends with 0 once something is ready; it is repeated until then. */
export class ReadyCommand {
  readonly #command: string;

  constructor(command: string) {
    this.#command = command;
  }

  /** The command for a shell. */
  getCmd(): string {
    return this.#command;
  }
}

/** Longest name of a process that the kernel keeps (proc(5), `comm`). */
const MAX_PROCESS_NAME = 15;
const LISTEN_STATE = "0A";

/**
 * Ready when exactly this TCP port is listened on, by IPv4 or IPv6. Needs no program in the template but grep: it reads the kernel's own
 * table, where ports are four hexadecimal digits, so 80 is never mistaken for 8080.
 */
export function waitForPort(port: number): ReadyCommand {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError(`port must be a whole number between 1 and 65535, not ${String(port)}`);
  }
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return new ReadyCommand(
    `cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -Eq '^ *[0-9]+: [0-9A-F]+:${hex} [0-9A-F]+:0000 ${LISTEN_STATE} '`,
  );
}

/** Ready when the URL answers with the status. Needs curl in the template. */
export function waitForURL(url: string, statusCode = 200): ReadyCommand {
  if (!URL.canParse(url)) throw new InvalidArgumentError(`url must be a URL, not ${JSON.stringify(url)}`);
  return new ReadyCommand(`[ "$(curl -s -o /dev/null -w '%{http_code}' ${quoteShellWord(url)})" = ${quoteShellWord(String(statusCode))} ]`);
}

/** Ready when a process of exactly this name runs. Needs pgrep in the template. */
export function waitForProcess(processName: string): ReadyCommand {
  if (processName === "") throw new InvalidArgumentError("processName must not be empty");
  const match = processName.length > MAX_PROCESS_NAME ? "-f" : "-x";
  const pattern = processName.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new ReadyCommand(`pgrep ${match} -- ${quoteShellWord(pattern)} > /dev/null`);
}

/** Ready when the file exists. */
export function waitForFile(filename: string): ReadyCommand {
  if (filename === "") throw new InvalidArgumentError("filename must not be empty");
  return new ReadyCommand(`[ -f ${quoteShellWord(filename)} ]`);
}

/** Ready after a time, in milliseconds; at least a second. */
export function waitForTimeout(timeoutMs: number): ReadyCommand {
  if (!Number.isFinite(timeoutMs) || timeoutMs < 0) {
    throw new InvalidArgumentError(`timeout must be a number of milliseconds of at least 0, not ${String(timeoutMs)}`);
  }
  return new ReadyCommand(`sleep ${Math.max(1, Math.ceil(timeoutMs / 1000))}`);
}
