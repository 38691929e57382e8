import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { timeMs } from "../timing.js";

const SANDBOXES = 100;

/** A hundred creations at once, without a pool, until the last one answers. */
export const burst: Measurement = {
  name: "burst of 100 creations",
  async measure(startPlatform) {
    const { untilLogged, ...options } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    // As for single creations: what a platform makes in its first second takes a processor until then.
    await untilLogged("snapshot.built", 1);
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
