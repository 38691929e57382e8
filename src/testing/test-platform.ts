import type { ConnectionOptions } from "../index.js";
import { findLocalPlatform } from "../node/local-platform.js";
import { startOwnPlatform } from "./own-platform.js";

/** Which platform a test suite gets. */
export interface TestPlatformOptions {
  /**
   * Start one even where this user's platform runs: nothing of other programs is then in its lists, and it has its own limits.
   *
   * @defaultValue false
   */
  readonly isolated?: boolean | undefined;
  /** Milliseconds that a start may take. @defaultValue 30_000 */
  readonly startTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A real platform for a test suite. */
export interface TestPlatform extends AsyncDisposable {
  /** For `Sandbox.create(…)` and everything else that connects. */
  readonly connection: Readonly<Required<Pick<ConnectionOptions, "apiUrl" | "sandboxUrl" | "apiKey" | "platform">>>;
  /** The same as variables of the environment, for programs that a test starts. */
  readonly env: Readonly<Record<string, string>>;
  /** It was there before, and stays. */
  readonly isShared: boolean;
  /** End the platform, its sandboxes and its files, unless it was there before. Ending twice is fine. */
  stop(): Promise<void>;
}

/**
 * Give a test suite a real platform: the one of this user where it runs (milliseconds), else one with directories of its own, started for
 * the suite from the templates of this machine (under a second).
 *
 * Call it once per run, for example in a global set-up, and stop it at the end. A suite that was killed leaves nothing that stays: its
 * platform stops when it has had no sandbox and no request for 15 minutes, and the next start removes its files.
 *
 * @throws {@link FailedPreconditionError} this machine cannot run it, or is not prepared by `abx setup`; the message has the end of the log.
 */
export async function startTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  options.signal?.throwIfAborted();
  const running = options.isolated ? undefined : await findLocalPlatform();
  if (running !== undefined) return toTestPlatform(running, true, async () => undefined);
  const own = await startOwnPlatform(options);
  return toTestPlatform(own.platform, false, own.stop);
}

function toTestPlatform(
  { apiUrl, sandboxUrl, apiKey }: { readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string },
  isShared: boolean,
  stop: () => Promise<void>,
): TestPlatform {
  return {
    connection: Object.freeze({ platform: "cloud", apiUrl, sandboxUrl, apiKey }),
    env: Object.freeze({ AGENT_SANDBOX_API_URL: apiUrl, AGENT_SANDBOX_SANDBOX_URL: sandboxUrl, AGENT_SANDBOX_API_KEY: apiKey }),
    isShared,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
