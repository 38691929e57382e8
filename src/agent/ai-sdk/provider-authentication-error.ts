import { AuthenticationError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";

/** What `@ai-sdk/harness` knows its own errors by, across copies of its package: the name of each class above. */
const MARKERS = ["vercel.ai.error", "vercel.ai.error.AI_HarnessError", "vercel.ai.error.AI_HarnessSandboxAuthenticationError"];

/** The credentials for the platform are missing, unknown or not enough; a `HarnessSandboxAuthenticationError` of the harness too. */
export class SandboxProviderAuthenticationError extends AuthenticationError {
  override readonly name: string = "SandboxProviderAuthenticationError";
  readonly sandboxProviderId: string;

  constructor(sandboxProviderId: string, cause: SandboxError) {
    const { operation, sandboxId, requestId } = cause;
    super(`${cause.message}; the provider takes apiKey among its create options`, {
      ...{ operation, sandboxId, requestId },
      cause,
    });
    this.sandboxProviderId = sandboxProviderId;
    for (const marker of MARKERS) Object.defineProperty(this, Symbol.for(marker), { value: true });
  }
}

/** Do something with the platform, and tell wrong credentials as the harness expects it. */
export async function withProviderErrors<T>(sandboxProviderId: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!SandboxError.isInstance(error) || (error.reason !== "authentication" && error.reason !== "permission_denied")) throw error;
    throw new SandboxProviderAuthenticationError(sandboxProviderId, error);
  }
}
