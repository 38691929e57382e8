import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { measureEntry } from "../entry-size.js";
import type { Measurement } from "../measurement.js";
import { percentile } from "../timing.js";

const ROUNDS = 25;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = { ours: "@agent-sandbox/sdk", theirs: "e2b" } as const;

/** What `import` of the root entry costs, and its size in a page, next to the unmodified `e2b` package. */
export const vsE2bEntry: Measurement = {
  name: "entry side by side with e2b",
  async measure() {
    const samples = { ours: [] as number[], theirs: [] as number[] };
    // In turns, so that what the machine does besides falls out; the first round also fills the cache of files.
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const side of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
        const ms = await importMs(PACKAGES[side]);
        if (round > 0) samples[side].push(ms);
      }
    }
    const [ours, theirs] = [percentile(samples.ours, 0.5), percentile(samples.theirs, 0.5)];
    const [ourSize, theirSize] = [await measureEntry(PACKAGES.ours), await measureEntry(PACKAGES.theirs)];
    process.stderr.write(`  import: ${ours.toFixed(1)} ms, e2b ${theirs.toFixed(1)} ms\n`);
    process.stderr.write(`  loaded by a page: ${kib(ourSize.loadedBytes)} KiB gzip, e2b ${kib(theirSize.loadedBytes)} KiB\n`);
    process.stderr.write(`  with what calls load: ${kib(ourSize.wholeBytes)} KiB gzip, e2b ${kib(theirSize.wholeBytes)} KiB\n`);
    return [
      { key: "import_ms", value: ours, target: { atMost: 40 } },
      { key: "bundle_gzip_kb", value: ourSize.loadedBytes / 1024, target: { atMost: 70 } },
      { key: "bundle_whole_gzip_kb", value: ourSize.wholeBytes / 1024 },
      { key: "vs_e2b.import", value: ours / theirs, target: { atMost: 0.5 } },
      { key: "vs_e2b.bundle", value: ourSize.loadedBytes / theirSize.loadedBytes, target: { atMost: 0.5 } },
      { key: "vs_e2b.bundle_whole", value: ourSize.wholeBytes / theirSize.wholeBytes, target: { atMost: 1 } },
    ];
  },
};

/** Milliseconds that a new process of Node takes for the import alone. */
async function importMs(specifier: string): Promise<number> {
  const program = `const startedAt = performance.now(); await import("${specifier}"); console.log(performance.now() - startedAt);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { cwd: ROOT });
  return Number(stdout);
}

function kib(bytes: number): string {
  return (bytes / 1024).toFixed(1);
}
