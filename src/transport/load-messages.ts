import { ConnectionError } from "../errors/error-classes.js";

/** The module that knows the services of a daemon and encodes their messages. */
export type Messages = typeof import("./rpc-messages.js");

/** Load it; once it is there, this is at once. @throws {@link ConnectionError} its file cannot be had, as in a page that went offline. */
export async function loadMessages(): Promise<Messages> {
  try {
    return await import("./rpc-messages.js");
  } catch (cause) {
    throw new ConnectionError("the part of this package that talks to sandboxes cannot be loaded", { cause });
  }
}

/** Begin to load it, so that the first call need not wait. A failure shows at that call. */
export function preloadMessages(): void {
  loadMessages().catch(() => undefined);
}
