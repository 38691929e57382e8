import { type ChildProcess, spawn } from "node:child_process";
import { InternalError } from "../../../errors/error-classes.js";
import { errorFromReason } from "../../../errors/error-from-reason.js";
import { messageOf } from "../../../shared/message-of.js";
import type { Logger } from "../../logger.js";
import { UNIFIED_MOUNT } from "./cgroups.js";
import type { EngineCalls, EngineConfig, EngineInfo, EngineMethod, HelperResponse } from "./helper-protocol.js";
import { assertRoot } from "./root-need.js";

/** How to start the helper. */
export interface HelperOptions {
  /** Built file of the helper. */
  readonly script: string;
  readonly config: EngineConfig;
  readonly logger: Logger;
}

interface PendingCall {
  resolve(result: never): void;
  reject(error: Error): void;
}

/**
 * Enters a private mount namespace, takes the version 2 cgroup mount of hybrid machines away from the runtimes, and becomes the helper.
 */
const ENTER = `if mountpoint -q ${UNIFIED_MOUNT}; then umount ${UNIFIED_MOUNT} || :; fi; exec "$@"`;

/** The runtime helper as seen from the control plane. It starts with the first call, and again after it died. */
export class HelperProcess {
  readonly #options: HelperOptions;
  readonly #pending = new Map<number, PendingCall>();
  #child: ChildProcess | undefined;
  #opening: Promise<EngineInfo> | undefined;
  #lastCallId = 0;
  #isClosed = false;

  constructor(options: HelperOptions) {
    this.#options = options;
  }

  /** Start the helper and let it look at the machine; later calls return the same answer. */
  open(): Promise<EngineInfo> {
    if (this.#isClosed) return Promise.reject(new InternalError("the driver is closed"));
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined;
      this.#child?.disconnect();
      throw error;
    });
    return this.#opening;
  }

  /** @throws the error of the helper; {@link InternalError} it died before it answered. */
  async call<Method extends EngineMethod>(method: Method, params: EngineCalls[Method]["params"]): Promise<EngineCalls[Method]["result"]> {
    await this.open();
    return this.#send(method, params);
  }

  /** Let the helper end; calls that wait for an answer reject. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    if (child.connected) child.disconnect();
    await ended;
  }

  async #start(): Promise<EngineInfo> {
    // It could not even enter a mount namespace.
    assertRoot();
    const { script, config, logger } = this.#options;
    const args = ["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", process.execPath, script];
    // A session of its own: signals of the terminal are for the platform, which then ends the helper in its own time.
    const child = spawn("unshare", args, { stdio: ["ignore", "ignore", "inherit", "ipc"], serialization: "json", detached: true });
    this.#child = child;
    child.on("message", (response: HelperResponse) => this.#settle(response));
    child.once("error", (error) => this.#lose(child, `could not start: ${messageOf(error)}`));
    child.once("exit", (code, signal) => {
      if (!this.#isClosed) logger.warn("runtime helper ended", { code, signal });
      this.#lose(child, `ended (${signal ?? `exit code ${code}`})`);
    });
    return this.#send("open", config);
  }

  #send<Method extends EngineMethod>(method: Method, params: EngineCalls[Method]["params"]): Promise<EngineCalls[Method]["result"]> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      if (child === undefined || !child.connected) {
        reject(new InternalError("the runtime helper is not running"));
        return;
      }
      this.#lastCallId += 1;
      const callId = this.#lastCallId;
      this.#pending.set(callId, { resolve, reject });
      child.send({ callId, method, params }, (error) => {
        if (error === null || !this.#pending.delete(callId)) return;
        reject(new InternalError("the runtime helper did not take a call", { cause: error }));
      });
    });
  }

  #settle(response: HelperResponse): void {
    const call = this.#pending.get(response.callId);
    if (call === undefined) return;
    this.#pending.delete(response.callId);
    if ("error" in response) call.reject(errorFromReason(response.error.reason, response.error.message));
    // The helper answers each method with the result that EngineCalls declares for it.
    else call.resolve(response.result as never);
  }

  #lose(child: ChildProcess, how: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#opening = undefined;
    const error = new InternalError(`the runtime helper ${how}`, { isRetryable: true });
    for (const call of this.#pending.values()) call.reject(error);
    this.#pending.clear();
  }
}
