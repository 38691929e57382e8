import type { SandboxLink } from "./sandbox-link.js";
import { OutputLines } from "./templates/output-lines.js";

/** A creation does not wait for it, nor share the processor with it. */
const DELAY_MS = 1_000;
/** A guest can speak in the daemon's name, and must not fill the journal. */
const MAX_LINES = 100;

/** Follow what the daemon of a running sandbox says about its own faults, until nothing reaches the sandbox any more. */
export function followComplaints(link: SandboxLink, onLine: (line: string) => void): void {
  const timer = setTimeout(() => void open(link, onLine), DELAY_MS).unref();
  link.onSever(() => clearTimeout(timer));
}

async function open(link: SandboxLink, onLine: (line: string) => void): Promise<void> {
  // A daemon of an earlier version tells nothing.
  const socket = await link.openComplaints().catch(() => undefined);
  if (socket === undefined) return;
  let count = 0;
  const lines = new OutputLines((line) => {
    count += 1;
    if (count < MAX_LINES) onLine(line);
    else if (count === MAX_LINES) onLine("what else the daemon has to say is not kept");
  });
  const release = link.onSever(() => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.once("close", release);
  socket.on("data", (bytes: Buffer) => lines.add(bytes, "stderr"));
}
