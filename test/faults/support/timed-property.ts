import fc from "fast-check";

/** No new example begins after this, in milliseconds: how many there are depends on the machine, what each shows does not. */
const BUDGET_MS = 10_000;
/** What a cut may cost one example, in milliseconds: far less than any timeout of the product, so that a stall is not taken for patience. */
const EXAMPLE_MS = 20_000;

/**
 * Check a property of a system in which time passes. Each example that begins also ends, as the next one has the same proxy and files;
 * one that does not end within 20 s fails.
 */
export async function checkTimedProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
  options: { readonly numRuns: number; readonly examples?: T[] },
): Promise<void> {
  const endMs = performance.now() + BUDGET_MS;
  const shown = (options.examples ?? []).map((value): [T] => [value]);
  let runs = 0;
  const bounded = async (value: T): Promise<void> => {
    if (performance.now() > endMs && runs > shown.length) return;
    runs += 1;
    await Promise.race([check(value), stalled(EXAMPLE_MS)]);
  };
  await fc.assert(fc.asyncProperty(arbitrary, bounded), { numRuns: options.numRuns, examples: shown, endOnFailure: true });
}

function stalled(limitMs: number): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(`nothing more happened within ${limitMs} ms`)), limitMs).unref();
  });
}
