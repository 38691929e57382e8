import { ConnectionError } from "../errors/error-classes.js";
import { untilAborted } from "./until-aborted.js";

/**
 * Wait for a part of this package that only some calls need; once it is there, this is at once. The caller imports it, so that bundlers see the
 * name. An abort of `signal` ends the waiting with its reason.
 *
 * @param purpose what the part does, for the error.
 * @throws {@link ConnectionError} its file cannot be had, as in a page that went offline.
 */
export function loadPart<T>(purpose: string, loading: Promise<T>, signal?: AbortSignal): Promise<T> {
  const loaded = loading.catch((cause: unknown) => {
    throw new ConnectionError(`the part of this package that ${purpose} cannot be loaded`, { cause });
  });
  return untilAborted(loaded, signal);
}

/** Make something of such a part when it is first asked for, and keep it. What could not be loaded is tried again by the next call. */
export function latePart<T>(purpose: string, load: () => Promise<T>): (signal: AbortSignal | undefined) => Promise<T> {
  let loading: Promise<T> | undefined;
  return (signal) => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loadPart(purpose, loading, signal);
  };
}
