import type { ChildProcess } from "node:child_process";
import { watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { FailedPreconditionError } from "../errors/error-classes.js";
import { PLATFORM_FILE_NAME, PLATFORM_LOG_NAME, type PlatformFile } from "../shared/platform-dirs.js";
import { findAbxPath } from "./abx-path.js";
import { platformEnvironment } from "./platform-environment.js";

/** Upper bound between two looks where the file system reports no change. */
const LOOK_AGAIN_MS = 200;
/** A child that found another platform running has ended before that one's file is complete. */
const GRACE_AFTER_EXIT_MS = 1_000;
const LOG_TAIL_BYTES = 4_000;

export interface Launch {
  readonly runDir: string;
  /** The platform, once it answers. */
  readonly find: () => Promise<PlatformFile | undefined>;
  /** The caller's wish to wait no longer. */
  readonly signal: AbortSignal | undefined;
  /** Fires when the start took too long. */
  readonly deadline: AbortSignal;
}

/**
 * Start `abx serve` detached from this process and wait until it answers.
 *
 * @throws {@link FailedPreconditionError} it ended or did not answer in time; `signal.reason` when the caller aborted.
 */
export async function launchPlatform(launch: Launch): Promise<PlatformFile> {
  const abxPath = findAbxPath();
  const log = await open(path.join(launch.runDir, PLATFORM_LOG_NAME), "a+", 0o600);
  try {
    const logStart = (await log.stat()).size;
    // Loaded here and not at import: most programs find a platform that runs already.
    const { spawn } = process.getBuiltinModule("node:child_process");
    const child = spawn(process.execPath, [abxPath, "serve", "--on-demand"], {
      cwd: "/",
      detached: true,
      env: platformEnvironment(),
      stdio: ["ignore", "ignore", log.fd],
    });
    child.unref();
    const outcome = await waitForPlatform(launch, child);
    if (typeof outcome === "object") return outcome;
    throw new FailedPreconditionError(`the local platform did not start: ${outcome}\n${await tailOf(log, logStart)}`.trimEnd(), {
      operation: "localPlatform",
    });
  } finally {
    await log.close();
  }
}

/** The platform, or a sentence that says why there is none. */
async function waitForPlatform({ runDir, find, signal, deadline }: Launch, child: ChildProcess): Promise<PlatformFile | string> {
  const news = new News();
  const stopWatching = watchFor(runDir, PLATFORM_FILE_NAME, news.arrive);
  let ending: string | undefined;
  let graceEndsAt = Number.POSITIVE_INFINITY;
  const onEnd = (sentence: string): void => {
    ending ??= sentence;
    graceEndsAt = performance.now() + GRACE_AFTER_EXIT_MS;
    news.arrive();
  };
  child.once("error", (error) => onEnd(`${process.execPath} cannot be run (${error.message})`));
  child.once("exit", (code, signalName) => onEnd(`\`abx serve\` ended with ${signalName ?? `exit code ${code}`}`));
  signal?.addEventListener("abort", news.arrive);
  deadline.addEventListener("abort", news.arrive);
  try {
    for (;;) {
      const file = await find();
      if (file !== undefined) return file;
      signal?.throwIfAborted();
      if (ending !== undefined && performance.now() >= graceEndsAt) return ending;
      if (deadline.aborted) return ending ?? `\`abx serve\` (pid ${child.pid}) runs, but does not answer in time`;
      await news.next(LOOK_AGAIN_MS);
    }
  } finally {
    stopWatching();
    child.removeAllListeners();
    signal?.removeEventListener("abort", news.arrive);
    deadline.removeEventListener("abort", news.arrive);
  }
}

/** Something to wait for that many callbacks can end; what arrives between two waits ends the next one at once. */
class News {
  #wake: (() => void) | undefined;
  #hasArrived = false;

  readonly arrive = (): void => {
    this.#hasArrived = true;
    this.#wake?.();
  };

  async next(atMostMs: number): Promise<void> {
    if (!this.#hasArrived) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, atMostMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#hasArrived = false;
    this.#wake = undefined;
  }
}

function watchFor(directory: string, fileName: string, onChange: () => void): () => void {
  try {
    const watcher = watch(directory, (_event, name) => {
      if (name === fileName) onChange();
    });
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    // No watch is left for this user (inotify limit): looking again from time to time finds the file too.
    return () => undefined;
  }
}

async function tailOf(log: FileHandle, from: number): Promise<string> {
  const { size } = await log.stat();
  const start = Math.max(from, size - LOG_TAIL_BYTES);
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(Math.max(size - start, 0)), position: start });
  return buffer.toString("utf8", 0, bytesRead);
}
