import { InvalidArgumentError } from "../errors/error-classes.js";
import type { SandboxPolicy } from "../protocol/lifecycle-types.js";

/** What happens at the end of life, and on requests afterwards. */
export interface SandboxLifecycleOptions {
  /** `pause` keeps the memory unless `keepMemory` is false. @defaultValue "kill" */
  readonly onTimeout?: "kill" | "pause" | { readonly action: "kill" | "pause"; readonly keepMemory?: boolean | undefined } | undefined;
  /** A request to the paused sandbox wakes it. Needs `pause` with its memory. @defaultValue false */
  readonly autoResume?: boolean | undefined;
}

/** @throws {@link InvalidArgumentError} an option is unknown or needs another one. */
export function toPolicy(options: SandboxLifecycleOptions | undefined): SandboxPolicy | undefined {
  if (options === undefined) return undefined;
  const { onTimeout = "kill", autoResume } = options;
  const { action, keepMemory } = typeof onTimeout === "string" ? { action: onTimeout, keepMemory: undefined } : onTimeout;
  if (action !== "kill" && action !== "pause") {
    throw new InvalidArgumentError(`lifecycle.onTimeout must be "kill" or "pause", not ${JSON.stringify(action)}`);
  }
  if (action === "kill" && keepMemory !== undefined)
    throw new InvalidArgumentError('lifecycle.onTimeout.keepMemory needs the action "pause"');
  if (action === "kill" && autoResume === true) throw new InvalidArgumentError('lifecycle.autoResume needs onTimeout: "pause"');
  if (keepMemory === false && autoResume === true) {
    throw new InvalidArgumentError("lifecycle.autoResume needs the memory: leave keepMemory: false out");
  }
  return { onTimeout: action, keepMemory, autoResume };
}

/** How a paused sandbox is woken: `restore` with its memory, `reboot` anew from its files. */
export type SandboxOnResume = "restore" | "reboot";

/** @throws {@link InvalidArgumentError} another word. */
export function toWantsMemory(onResume: SandboxOnResume | undefined): boolean | undefined {
  if (onResume === undefined || onResume === "restore") return undefined;
  if (onResume === "reboot") return false;
  throw new InvalidArgumentError(`onResume must be "restore" or "reboot", not ${JSON.stringify(onResume)}`);
}
