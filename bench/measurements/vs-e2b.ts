import { Sandbox } from "@agent-sandbox/sdk";
import { type Contest, hold } from "../contest.js";
import { loadForeignClient } from "../foreign-client.js";
import type { BenchValue, Measurement } from "../measurement.js";
import { openEcho } from "../terminal-echo.js";

const MIB = 1024 * 1024;
const LIST_ENTRIES = 100;
const STDOUT_BYTES = 16 * MIB;
const LIFE_MS = 3_600_000;
/** Every operation but create, through our client and through the unmodified `e2b` client. */
export const vsE2b: Measurement = {
  name: "side by side with e2b",
  async measure(startPlatform) {
    const { untilLogged: _, ...platform } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const createForeign = await loadForeignClient();
    const [ours, theirs] = [await Sandbox.create({ ...platform, timeoutMs: LIFE_MS }), await createForeign(platform, LIFE_MS)];
    const text = "0123456789abcdef".repeat(64);
    const large = new Uint8Array(64 * MIB).fill(97);
    for (const [sandbox, name] of [
      [ours, "ours"],
      [theirs, "theirs"],
    ] as const) {
      await sandbox.files.write(`/home/user/${name}-small`, text);
      await sandbox.commands.run(`mkdir -p many && cd many && touch $(seq ${LIST_ENTRIES})`);
    }
    const stdout = `head -c ${STDOUT_BYTES} /dev/zero | tr '\\0' x`;
    const ourEcho = await openEcho(async (onData) => {
      const session = await ours.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData });
      return { type: (bytes) => session.sendInput(bytes) };
    });
    const theirEcho = await openEcho(async (onData) => {
      const { pid } = await theirs.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData });
      return { type: (bytes) => theirs.pty.sendInput(pid, bytes) };
    });
    const contests: readonly Contest[] = [
      { name: "run", rounds: 100, ours: () => ours.commands.run("true"), theirs: () => theirs.commands.run("true") },
      {
        name: "read_1kib",
        rounds: 150,
        ours: () => ours.files.read("/home/user/ours-small"),
        theirs: () => theirs.files.read("/home/user/theirs-small"),
      },
      {
        name: "write_1kib",
        rounds: 150,
        ours: () => ours.files.write("/home/user/w", text),
        theirs: () => theirs.files.write("/home/user/w", text),
      },
      { name: "list", rounds: 100, ours: () => ours.files.list("/home/user/many"), theirs: () => theirs.files.list("/home/user/many") },
      {
        name: "write_64mib",
        rounds: 6,
        ours: () => ours.files.write("/home/user/large", large.buffer),
        theirs: () => theirs.files.write("/home/user/large", large.buffer),
      },
      {
        name: "read_64mib",
        rounds: 6,
        ours: () => ours.files.read("/home/user/large", { format: "bytes" }),
        theirs: () => theirs.files.read("/home/user/large", { format: "bytes" }),
      },
      { name: "stdout_16mib", rounds: 6, ours: () => ours.commands.run(stdout), theirs: () => theirs.commands.run(stdout) },
      { name: "pty_echo", rounds: 200, ours: ourEcho, theirs: theirEcho },
    ];
    const values: BenchValue[] = [];
    for (const contest of contests) values.push(await hold(contest));
    await Promise.all([ours, theirs].map((sandbox) => sandbox.kill()));
    return values;
  },
};
