import type { Duplex } from "node:stream";

/**
 * Carry bytes both ways until both sides have ended. An end is passed on as an end, an error or a silence of `idleMs` breaks both.
 *
 * @param onClose called once with the bytes that went from `guest` to `remote` and back
 */
export function joinSockets(guest: Duplex, remote: Duplex, idleMs: number, onClose: (sent: number, received: number) => void): void {
  let sent = 0;
  let received = 0;
  let open = 2;
  let timer = setTimeout(breakBoth, idleMs).unref();
  function breakBoth() {
    guest.destroy();
    remote.destroy();
  }
  const onSideClosed = () => {
    open--;
    breakBoth();
    if (open > 0) return;
    clearTimeout(timer);
    onClose(sent, received);
  };
  const count = (direction: "up" | "down") => (chunk: Buffer) => {
    if (direction === "up") sent += chunk.length;
    else received += chunk.length;
    timer = timer.refresh();
  };
  for (const side of [guest, remote]) side.on("error", breakBoth).once("close", onSideClosed);
  guest.on("data", count("up"));
  remote.on("data", count("down"));
  guest.pipe(remote);
  remote.pipe(guest);
  if (guest.destroyed || remote.destroyed) breakBoth();
}
