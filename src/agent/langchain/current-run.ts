import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

/** The run of LangChain inside which a function is called. */
export interface CurrentRun {
  readonly signal: AbortSignal | undefined;
  readonly threadId: string | undefined;
}

/**
 * The run that calls, where the runtime has async context and the framework uses it; its backends are given neither a signal nor a config.
 *
 * @param runtime what the framework gives in addition, which is all there is in a browser
 */
export function currentRun(runtime?: unknown): CurrentRun {
  const configs = [AsyncLocalStorageProviderSingleton.getRunnableConfig() as unknown, runtime, memberOf(runtime, "config")];
  const signal = configs.map((config) => memberOf(config, "signal")).find((value) => value instanceof AbortSignal);
  const threadId = configs.map((config) => memberOf(memberOf(config, "configurable"), "thread_id")).find(isThreadId);
  return { signal, threadId: threadId?.toString() };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function isThreadId(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
