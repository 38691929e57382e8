import { Sandbox } from "@agent-sandbox/sdk";
import { hold } from "../contest.js";
import { loadForeignClient } from "../foreign-client.js";
import type { Measurement } from "../measurement.js";

const ROUNDS = 30;
const LIFE_MS = 3_600_000;

/** `Sandbox.create` from a full pool, through our client and through the unmodified `e2b` client. */
export const vsE2bCreate: Measurement = {
  name: "create side by side with e2b",
  async measure(startPlatform) {
    const { untilLogged, ...platform } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "1" });
    const createForeign = await loadForeignClient();
    await untilLogged("snapshot.built", 1);
    let last: { kill(): Promise<unknown> } | undefined;
    let count = 0;
    const value = await hold({
      name: "create",
      rounds: ROUNDS,
      prepare: async () => {
        await last?.kill();
        count += 1;
        await untilLogged("pool.filled", count);
      },
      ours: async () => {
        last = await Sandbox.create({ ...platform, timeoutMs: LIFE_MS });
      },
      theirs: async () => {
        last = await createForeign(platform, LIFE_MS);
      },
    });
    await last?.kill();
    return [value];
  },
};
