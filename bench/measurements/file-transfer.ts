import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { daemonPid, memoryGrowth } from "../process-memory.js";
import { percentile, timeMs } from "../timing.js";

const CHUNK = new Uint8Array(1024 * 1024).fill(7);
const CHUNKS = 1024;
/** Above what 31 bits count. */
const LARGEST_CHUNKS = 3 * 1024;
const WARM_UP_CHUNKS = 64;
const ROUNDS = 3;
const LIST_ROUNDS = 15;
const BYTES_PER_MB = 1_000_000;

/** Streams of 1 GiB, and once of 3 GiB, both ways through edge and daemon, with the memory that they cost at both ends, and a large directory. */
export const fileTransfer: Measurement = {
  name: "files",
  async measure(startPlatform) {
    const sandbox = await Sandbox.create({ ...(await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" })), timeoutMs: 900_000 });
    const pids = ["self", await daemonPid(sandbox.sandboxId)] as const;
    // Code is compiled and pools are filled before anything is counted.
    await write(sandbox, WARM_UP_CHUNKS);
    await read(sandbox);

    const writes: number[] = [];
    const reads: number[] = [];
    const growth: number[][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      growth.push(await memoryGrowth(pids, async () => void writes.push(await timeMs(() => write(sandbox, CHUNKS)))));
      growth.push(await memoryGrowth(pids, async () => void reads.push(await timeMs(() => read(sandbox)))));
      await sandbox.files.remove("large");
    }
    growth.push(await memoryGrowth(pids, () => write(sandbox, LARGEST_CHUNKS)));
    growth.push(await memoryGrowth(pids, () => read(sandbox)));
    await sandbox.files.remove("large");
    const lists = await measureLists(sandbox);
    await sandbox.kill();
    const perSecond = (ms: number[]) => (CHUNKS * CHUNK.length) / BYTES_PER_MB / (percentile(ms, 0.5) / 1000);
    const worst = (side: number) => Math.max(...growth.map((sides) => sides[side] ?? 0));
    return [
      { key: "file_write_mb_s", value: perSecond(writes), target: { atLeast: 400 } },
      { key: "file_read_mb_s", value: perSecond(reads), target: { atLeast: 400 } },
      { key: "rss_growth_mib.client", value: worst(0), target: { atMost: 32 } },
      { key: "rss_growth_mib.daemon", value: worst(1), target: { atMost: 32 } },
      { key: "list_10k_ms", value: percentile(lists, 0.5), target: { atMost: 250 } },
    ];
  },
};

async function write(sandbox: Sandbox, chunks: number): Promise<void> {
  async function* source() {
    for (let sent = 0; sent < chunks; sent += 1) yield CHUNK;
  }
  await sandbox.files.write("large", source());
  const { size } = await sandbox.files.getInfo("large");
  if (size !== chunks * CHUNK.length) throw new Error(`the file has ${size} bytes instead of ${chunks * CHUNK.length}`);
}

async function read(sandbox: Sandbox): Promise<void> {
  const { size } = await sandbox.files.getInfo("large");
  let received = 0;
  for await (const bytes of await sandbox.files.read("large", { format: "stream" })) received += bytes.length;
  if (received !== size) throw new Error(`${received} of ${size} bytes arrived`);
}

async function measureLists(sandbox: Sandbox): Promise<number[]> {
  await sandbox.commands.run("mkdir many && cd many && seq 10000 | xargs touch", { timeoutMs: 0 });
  const samples: number[] = [];
  for (let round = 0; round < LIST_ROUNDS; round += 1) samples.push(await timeMs(() => sandbox.files.list("many")));
  return samples;
}
