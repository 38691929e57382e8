import { InvalidArgumentError } from "../errors/error-classes.js";
import type { OutputCallback } from "../sandbox/command-handle.js";
import type { Sandbox, SandboxCreateOptions } from "../sandbox/sandbox.js";
import { assertText } from "../shared/text-check.js";
import type { SandboxPoolOptions } from "./sandbox-pool.js";

/** What a call does with the text that the function prints; without a callback it is dropped. */
export interface RemoteOutputOptions {
  readonly onStdout?: OutputCallback<string> | undefined;
  readonly onStderr?: OutputCallback<string> | undefined;
}

/** Where and how a function runs. Every option of `Sandbox.create` that is not named here works too. */
export interface RemoteOptions extends Omit<SandboxCreateOptions, "timeoutMs" | "lifecycle" | "signal">, RemoteOutputOptions {
  /** Template of the sandboxes; it needs Node 20 or newer (Python 3.9 for functions of Python). @defaultValue "base" */
  readonly template?: string | undefined;
  /** Packages that are installed in each sandbox before its first call, as npm (or pip) takes them: `["lodash@4"]`. @defaultValue none */
  readonly packages?: readonly string[] | undefined;
  /** Milliseconds that one call may take, without making its sandbox ready. @defaultValue 300_000 */
  readonly timeoutMs?: number | undefined;
  /** Environment of the function; `undefined` values are left out. */
  readonly envs?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Keep a sandbox for the next call, for about `timeoutMs` after the last one or until `close()`. Without it each call has a sandbox of its
   * own, which is killed at its end.
   *
   * @defaultValue false
   */
  readonly keepAlive?: boolean | undefined;
  /** Run every call in this sandbox, which is not killed. Options about sandboxes then mean nothing. */
  readonly sandbox?: Sandbox | undefined;
  /** Bytes that a result may have in its encoded form. @defaultValue 33_554_432 */
  readonly maxResultBytes?: number | undefined;
}

/** How one call is made. */
export interface RemoteCallOptions extends RemoteOutputOptions {
  /** Ends the call: what runs in the sandbox is killed, and the call rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
}

/** How a list is worked through. */
export interface RemoteMapOptions extends RemoteCallOptions {
  /** Calls at a time, each in a sandbox of its own, which is used again for the next. @defaultValue 4 */
  readonly concurrency?: number | undefined;
}

/** Options of a call with everything filled in. */
export interface CallSettings extends RemoteOutputOptions {
  readonly timeoutMs: number;
  readonly envs: Readonly<Record<string, string | undefined>> | undefined;
  readonly maxResultBytes: number;
}

const DEFAULT_TIMEOUT_MS = 300_000;
const DEFAULT_MAX_RESULT_BYTES = 32 * 1024 * 1024;
const DEFAULT_CONCURRENCY = 4;
/** Milliseconds that making a sandbox ready may take: sending files, and installing packages. */
const PREPARE_MS = 60_000;
export const INSTALL_TIMEOUT_MS = 600_000;

export interface RemoteSettings {
  readonly packages: readonly string[];
  readonly call: CallSettings;
  readonly pool: SandboxPoolOptions;
}

/** @throws {@link InvalidArgumentError} naming the option. */
export function toSettings(options: RemoteOptions): RemoteSettings {
  const {
    packages = [],
    timeoutMs = DEFAULT_TIMEOUT_MS,
    envs,
    keepAlive = false,
    sandbox,
    maxResultBytes,
    onStdout,
    onStderr,
    ...create
  } = options;
  assertPositive("timeoutMs", timeoutMs, 2 ** 31 - 1);
  packages.forEach(assertPackage);
  const resultBytes = maxResultBytes ?? DEFAULT_MAX_RESULT_BYTES;
  assertPositive("maxResultBytes", resultBytes);
  const lifeMs = timeoutMs + PREPARE_MS + (packages.length === 0 ? 0 : INSTALL_TIMEOUT_MS);
  return {
    packages: [...packages],
    call: { timeoutMs, envs: envs && { ...envs }, maxResultBytes: resultBytes, onStdout, onStderr },
    pool: { sandbox, keepAlive, create: { ...create, timeoutMs: lifeMs } },
  };
}

/** @throws {@link InvalidArgumentError} */
export function toConcurrency({ concurrency = DEFAULT_CONCURRENCY }: RemoteMapOptions): number {
  assertPositive("concurrency", concurrency);
  return concurrency;
}

function assertPositive(name: string, value: number, maximum = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= maximum) return;
  throw new InvalidArgumentError(`${name} must be a whole number between 1 and ${maximum}, not ${String(value)}`);
}

/** A word that begins with a dash would be an option of the installer. */
function assertPackage(specification: unknown): void {
  assertText("a package", specification);
  if (specification === "" || specification.startsWith("-")) {
    throw new InvalidArgumentError(`packages must name packages, not ${JSON.stringify(specification)}`);
  }
}
