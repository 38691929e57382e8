import type { Journal, JournalEntry } from "../journal.js";

/** Events that are read from the store at once. */
const BATCH = 500;
const LAST_EVENTS: readonly (string | undefined)[] = ["killed", "expired", "died"];

/** Which events to follow. */
export interface FeedOptions {
  /** Only those of this sandbox; the feed then ends with it. */
  readonly sandboxId?: string | undefined;
  /** Begin after this number. @defaultValue now */
  readonly after?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Follow events, first those of the past and then each as it happens, none twice and none left out.
 *
 * The store is the buffer: a slow reader reads later from there and costs no memory.
 */
export async function* followEvents(journal: Journal, options: FeedOptions): AsyncGenerator<JournalEntry, void, undefined> {
  const { sandboxId, signal } = options;
  let seq = options.after ?? journal.lastSeq;
  let wake = () => {};
  const unsubscribe = journal.subscribe((entry) => {
    if (entry.event !== undefined && (sandboxId === undefined || entry.sandboxId === sandboxId)) wake();
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    while (!signal.aborted) {
      const news = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const entries = journal.eventsAfter(seq, sandboxId, BATCH);
      for (const entry of entries) {
        yield entry;
        seq = entry.seq;
        if (sandboxId !== undefined && LAST_EVENTS.includes(entry.event)) return;
      }
      if (entries.length < BATCH && !signal.aborted) await news;
    }
  } finally {
    unsubscribe();
  }
}
