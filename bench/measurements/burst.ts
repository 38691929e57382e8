import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { timeMs } from "../timing.js";

const SANDBOXES = 100;

/** A hundred creations at once, without a pool, until the last one answers. */
export const burst: Measurement = {
  name: "burst of 100 creations",
  async measure(startPlatform) {
    const { apiUrl, sandboxUrl, apiKey } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const options = { apiUrl, sandboxUrl, apiKey };
    // The first creation also loads what the others use.
    await (await Sandbox.create(options)).kill();
    let sandboxes: Sandbox[] = [];
    const ms = await timeMs(async () => {
      sandboxes = await Promise.all(Array.from({ length: SANDBOXES }, () => Sandbox.create(options)));
    });
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
    return [{ key: "burst100_cold_s", value: ms / 1000, target: { atMost: 6 } }];
  },
};
