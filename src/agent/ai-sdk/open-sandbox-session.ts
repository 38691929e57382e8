import type { Experimental_SandboxSession } from "ai";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { portUrl } from "../port-url.js";
import { findGuestPlace, type GuestPlace } from "./guest-place.js";
import { createSessionFiles } from "./session-files.js";
import { createSessionProcesses } from "./session-processes.js";

/** How a sandbox is used as a session of the AI SDK. */
export interface SandboxSessionOptions {
  /** Directory that relative paths mean, itself relative to the home directory. @defaultValue where commands of the sandbox start */
  readonly workingDirectory?: string | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
  /** Bytes of each stream in the result of `run`; of more, beginning and end are kept, with a line in between that counts the rest. @defaultValue 67_108_864 */
  readonly maxOutputBytes?: number | undefined;
  /** Bytes of each stream of a spawned process that wait for their reader; a full buffer makes the process wait. @defaultValue 4_194_304 */
  readonly bufferBytes?: number | undefined;
  /**
   * Milliseconds for which a spawned process waits on a full buffer from which nobody takes anything. Then it goes on, and that stream fails
   * where output is missing. `0` waits without end. @defaultValue 30_000
   */
  readonly stallMs?: number | undefined;
  /** Ends the opening, which asks the sandbox for its directory. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const DEFAULT_BUFFER_BYTES = 4 * 1024 * 1024;
const DEFAULT_STALL_MS = 30_000;

/**
 * A sandbox as the `experimental_sandbox` of `generateText`, `streamText` and agents. It lives as long as the sandbox, and ends nothing.
 *
 * A file that is not there is `null`; everything else that goes wrong rejects with the errors of `Sandbox`, an abort with its reason.
 * `exitCode` is 128 plus the number of the signal where one ended the command.
 *
 * @throws {@link InvalidArgumentError} there is no such `workingDirectory`.
 */
export async function openSandboxSession(sandbox: Sandbox, options: SandboxSessionOptions = {}): Promise<Experimental_SandboxSession> {
  const place = await findGuestPlace(sandbox, options.workingDirectory, options.user, options.signal);
  return createSandboxSession(sandbox, place, options);
}

/** The same where the directory is known. A plain object, since frameworks spread it. */
export function createSandboxSession(sandbox: Sandbox, place: GuestPlace, options: SandboxSessionOptions): Experimental_SandboxSession {
  const { maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, bufferBytes = DEFAULT_BUFFER_BYTES, stallMs = DEFAULT_STALL_MS } = options;
  return {
    description: describe(sandbox, place),
    ...createSessionFiles(sandbox, place),
    ...createSessionProcesses(sandbox, place, { maxOutputBytes, bufferBytes, stallMs }),
  };
}

function describe(sandbox: Sandbox, { directory, user }: GuestPlace): string {
  return [
    `An isolated Linux machine (sandbox ${sandbox.sandboxId}). Commands are lines of bash${user === undefined ? "" : `, run as ${user}`}.`,
    `Relative paths, also those of commands, begin in ${directory}.`,
    "Files and processes stay until the sandbox ends.",
    `A program that listens on port 8000 is reached from outside at ${portUrl(sandbox, 8000)}, and so is every other port.`,
  ].join("\n");
}
