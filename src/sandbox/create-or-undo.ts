import type { LifecycleClient } from "../protocol/lifecycle-client.js";
import type { NewSandboxSpec, SandboxAccess } from "../protocol/lifecycle-types.js";
import { untilAborted } from "../shared/until-aborted.js";
import type { RequestOptions } from "../transport/config.js";

/** How long a creation that nobody waits for may go on. */
const GRACE_MS = 5_000;

/**
 * Create a sandbox, and kill it when the caller leaves meanwhile.
 *
 * An abort rejects at once. A request that was sent goes on for a moment, because only its answer names the sandbox that the server may have made
 * by then; after that the connection is cut, by which our server sees that nobody wants it.
 */
export async function createOrUndo(
  lifecycle: Pick<LifecycleClient, "create" | "kill">,
  spec: NewSandboxSpec,
  { signal, ...request }: RequestOptions,
): Promise<SandboxAccess> {
  if (signal === undefined) return lifecycle.create(spec, request);
  signal.throwIfAborted();
  const cut = new AbortController();
  let isSent = false;
  const onSend = () => {
    isSent = true;
  };
  const creating = lifecycle.create(spec, { ...request, signal: cut.signal, onSend });
  const undo = (): void => {
    if (!isSent) {
      cut.abort(signal.reason);
      return;
    }
    const timer = setTimeout(() => cut.abort(signal.reason), GRACE_MS);
    creating
      .then(({ sandboxId }) => lifecycle.kill(sandboxId, {}))
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  };
  signal.addEventListener("abort", undo, { once: true });
  try {
    return await untilAborted(creating, signal);
  } finally {
    signal.removeEventListener("abort", undo);
  }
}
