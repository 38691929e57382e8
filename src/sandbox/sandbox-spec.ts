import type { ConnectSpec, NewSandboxSpec } from "../protocol/lifecycle-types.js";
import { assertText } from "../shared/text-check.js";
import { toBoundarySpec } from "./create-isolated.js";
import { toPolicy, toWantsMemory } from "./lifecycle-options.js";
import { checkEnvs, checkLifeMs } from "./options.js";
import type { SandboxCreateOptions, WakeOptions } from "./sandbox.js";

/** What the control plane is asked for, once the options were found to be possible. */
export function toSpec(options: SandboxCreateOptions, defaultTemplate: string): NewSandboxSpec {
  const { template = defaultTemplate, metadata, allowInternetAccess, network } = options;
  assertText("template", template);
  for (const [key, value] of Object.entries(metadata ?? {})) {
    assertText("a metadata key", key);
    assertText(`metadata.${key}`, value);
  }
  const envs = options.envs === undefined ? undefined : checkEnvs(options.envs);
  const timeoutMs = checkLifeMs(options.timeoutMs);
  const checked = { template, timeoutMs, metadata, envs, allowInternetAccess, network, policy: toPolicy(options.lifecycle) };
  return { ...checked, ...toBoundarySpec(options) };
}

/** The same for joining a sandbox. */
export function toConnectSpec({ timeoutMs, onResume }: WakeOptions): ConnectSpec {
  return { timeoutMs: checkLifeMs(timeoutMs), wantsMemory: toWantsMemory(onResume) };
}
