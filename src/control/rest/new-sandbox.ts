import type { components } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { assertEnvironment } from "../../shared/environment-check.js";
import type { NewSandbox } from "../new-sandbox.js";
import type { LifecyclePolicy, SandboxMount } from "../sandbox-record.js";
import { filledIn } from "./filled-in.js";
import { toNetworkConfig } from "./network-body.js";

type Wire = components["schemas"];

/**
 * Read the body of a creation.
 *
 * @throws {@link InvalidArgumentError} a field asks for a feature that is not served, or a variable cannot exist in an environment.
 */
export function toNewSandbox(
  body: Wire["NewSandbox"] | Wire["NewSandboxV2"],
  isSecure: boolean,
  mounts: readonly SandboxMount[],
): NewSandbox {
  assertServed(body);
  const envs = body.envVars ?? {};
  // The daemon refuses them too, but by then there is a sandbox.
  assertEnvironment(Object.entries(envs));
  return {
    template: body.templateID,
    timeoutMs: filledIn(body.timeout) * 1000,
    isSecure,
    metadata: body.metadata ?? {},
    envs,
    allowInternetAccess: body.allow_internet_access,
    mounts,
    network: toNetworkConfig(body.network ?? {}, body.allow_internet_access, isSecure),
    policy: toPolicy(body),
  };
}

function toPolicy({ autoPause = false, autoPauseMemory = true, autoResume }: Wire["NewSandboxCommon"]): LifecyclePolicy {
  if (!autoPauseMemory && !autoPause) throw new InvalidArgumentError("autoPauseMemory: false needs autoPause: true");
  if (!autoPauseMemory && autoResume?.enabled === true) {
    throw new InvalidArgumentError("autoPauseMemory: false cannot be combined with autoResume: a request would find none of its processes");
  }
  return { onTimeout: autoPause ? "pause" : "kill", keepsMemory: autoPauseMemory, autoResume: autoResume?.enabled === true };
}

/** What old and new clients may send as long as it asks for nothing. */
function assertServed(body: Wire["NewSandboxCommon"]): void {
  refuse(isFilled(body.mcp), "mcp", "the MCP gateway is not served");
  refuse(isFilled(body.iam?.tokens), "iam.tokens", "identity tokens are not served");
}

function refuse(isAsked: boolean, field: string, why: string): void {
  if (isAsked) throw new InvalidArgumentError(`${field} is not available on this platform: ${why}; leave it out`);
}

function isFilled(value: object | null | undefined): boolean {
  return value !== null && value !== undefined && Object.keys(value).length > 0;
}
