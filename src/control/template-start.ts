import { setTimeout as delay } from "node:timers/promises";
import { FailedPreconditionError, TimeoutError } from "../errors/error-classes.js";
import { runDaemonCommand } from "./daemon-command.js";
import type { SandboxLink } from "./sandbox-link.js";
import type { TemplateStart } from "./templates/template-store.js";

/** How the start of a template's programs is followed. */
export interface StartOptions {
  /** What the daemon asks for; absent when it asks for none. */
  readonly accessToken?: string | undefined;
  /** Milliseconds until the ready command must have succeeded. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives the output of both commands. */
  readonly onOutput?: (output: Uint8Array, stream: "stdout" | "stderr") => void;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
const DEFAULT_USER = "user";
const KEPT_OUTPUT_BYTES = 2_000;

/**
 * Run the start command of a template and resolve when the ready command succeeds; the start command goes on.
 *
 * @throws {@link TimeoutError} not ready in time; {@link FailedPreconditionError} the start command failed before that, the message ends
 * with its output; `signal.reason`.
 */
export async function startTemplatePrograms(link: SandboxLink, start: TemplateStart, options: StartOptions): Promise<void> {
  const { startCommand, readyCommand } = start;
  if (startCommand === undefined && readyCommand === undefined) return;
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  try {
    const { failed } =
      startCommand === undefined ? { failed: neverFails() } : await launch(link, start, startCommand, { ...options, signal });
    if (readyCommand === undefined) return;
    await Promise.race([failed, untilReady(link, start, readyCommand, { ...options, signal })]);
  } finally {
    // The command itself goes on: only its reader leaves.
    left.abort(new Error("the program is ready"));
  }
}

/** Resolves once it runs; `failed` rejects when it fails. */
async function launch(
  link: SandboxLink,
  start: TemplateStart,
  command: string,
  { signal, onOutput, accessToken }: StartOptions,
): Promise<{ readonly failed: Promise<never> }> {
  let onStarted = () => {};
  const started = new Promise<void>((resolve) => {
    onStarted = resolve;
  });
  let output = "";
  const ended = runDaemonCommand(link, {
    ...shell(start, command),
    accessToken,
    signal,
    onStarted,
    onOutput: (bytes, stream) => {
      output = (output + Buffer.from(bytes).toString()).slice(-KEPT_OUTPUT_BYTES);
      onOutput?.(bytes, stream);
    },
  });
  const failed = ended.then(({ exitCode, status }) => {
    // A command that put its programs into the background has done its work.
    if (exitCode === 0) return neverFails();
    throw new FailedPreconditionError(`the start command ended with ${status} before it was ready: ${output.trim()}`);
  });
  failed.catch(() => undefined);
  await Promise.race([started, failed]);
  return { failed };
}

async function untilReady(
  link: SandboxLink,
  start: TemplateStart,
  command: string,
  { timeoutMs, signal, onOutput, accessToken }: StartOptions,
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const leftMs = Math.ceil(endsAtMs - performance.now());
    if (leftMs > 0) {
      const { exitCode } = await runDaemonCommand(link, {
        ...shell(start, command),
        accessToken,
        timeoutMs: leftMs,
        signal,
        ...(onOutput && { onOutput }),
      });
      if (exitCode === 0) return;
    }
    if (performance.now() + pauseMs > endsAtMs) {
      throw new TimeoutError(`the ready command did not succeed within ${Math.round(timeoutMs / 1000)} s: ${command}`, {
        timeout: "request",
      });
    }
    await delay(pauseMs, undefined, { signal });
  }
}

function shell({ envs, user, workdir }: TemplateStart, command: string) {
  return {
    args: ["/bin/bash", "-l", "-c", command],
    user: user ?? DEFAULT_USER,
    envs,
    ...(workdir !== undefined && { cwd: workdir }),
  };
}

function neverFails(): Promise<never> {
  return new Promise(() => {});
}
