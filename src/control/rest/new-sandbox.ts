import type { components } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
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
  for (const [name, value] of Object.entries(envs)) assertVariable(name, value);
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

function assertVariable(name: string, value: string): void {
  if (name === "" || name.includes("=") || name.includes("\0")) {
    throw new InvalidArgumentError(`envVars has the name ${JSON.stringify(name)}; a name must not be empty nor hold "=" or NUL`);
  }
  if (value.includes("\0")) throw new InvalidArgumentError(`the value of envVars.${name} holds NUL, which no environment can`);
}
