import { setTimeout as sleep } from "node:timers/promises";

/** A terminal as each of the measured clients has it. */
export interface EchoTerminal {
  type(bytes: Uint8Array): Promise<unknown>;
}

export type OpenTerminal = (onData: (data: Uint8Array) => void) => Promise<EchoTerminal>;

/** A shell line after which the kernel echoes every key and nothing else appears. */
const QUIET = "stty -icanon echo; clear; echo re''ady; exec cat > /dev/null\n";
const SETTLE_MS = 300;

/** Open a terminal that only echoes; the returned function types a key and resolves when its echo is there. */
export async function openEcho(open: OpenTerminal): Promise<() => Promise<void>> {
  let text = "";
  let wake: () => void = () => {};
  const terminal = await open((data) => {
    text += new TextDecoder().decode(data);
    wake();
  });
  const changed = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  await terminal.type(new TextEncoder().encode(QUIET));
  while (!text.includes("ready\r\n")) await changed();
  await sleep(SETTLE_MS);
  const key = new TextEncoder().encode("k");
  return async () => {
    const echoed = changed();
    const typed = terminal.type(key);
    await echoed;
    await typed;
  };
}
