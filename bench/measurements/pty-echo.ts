import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { openEcho } from "../terminal-echo.js";
import { percentile, timeMs } from "../timing.js";

const WARM_UP_ROUNDS = 50;
const ROUNDS = 500;

/** From a key typed into a terminal to its echo, with the acknowledgement of the key. */
export const ptyEcho: Measurement = {
  name: "pty echo",
  async measure(startPlatform) {
    const sandbox = await Sandbox.create({ ...(await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" })) });
    const echo = await openEcho(async (onData) => {
      const session = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData });
      return { type: (bytes) => session.sendInput(bytes) };
    });
    const samples: number[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      const ms = await timeMs(echo);
      if (round >= WARM_UP_ROUNDS) samples.push(ms);
    }
    await sandbox.kill();
    return [
      { key: "pty_echo_ms.p50", value: percentile(samples, 0.5), target: { atMost: 3 } },
      { key: "pty_echo_ms.p99", value: percentile(samples, 0.99) },
    ];
  },
};
