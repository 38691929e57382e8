import type { BenchValue } from "./measurement.js";
import { percentile, timeMs } from "./timing.js";

/** One operation through our client and through the unmodified `e2b` client, on one server. */
export interface Contest {
  readonly name: string;
  readonly rounds: number;
  ours(): Promise<unknown>;
  theirs(): Promise<unknown>;
  /** Not measured, before each call. */
  prepare?(): Promise<unknown>;
}

/** Do it in turns, so that what the machine does besides falls out: our median over theirs. */
export async function hold({ name, rounds, prepare, ...sides }: Contest): Promise<BenchValue> {
  const samples = { ours: [] as number[], theirs: [] as number[] };
  // One round more, which also loads the code of both.
  for (let round = 0; round <= rounds; round += 1) {
    for (const side of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
      await prepare?.();
      const ms = await timeMs(sides[side]);
      if (round > 0) samples[side].push(ms);
    }
  }
  const [ours, theirs] = [percentile(samples.ours, 0.5), percentile(samples.theirs, 0.5)];
  process.stderr.write(`  ${name}: ${ours.toFixed(2)} ms, e2b ${theirs.toFixed(2)} ms\n`);
  return { key: `vs_e2b.${name}`, value: ours / theirs, target: { atMost: 1 } };
}
