import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What goes wrong on one connection once `atByte` bytes passed in `direction`. */
export interface Fault {
  /** `up` is from the client to the server. */
  readonly direction: "up" | "down";
  /** Bytes of that direction that still pass; what follows, even in the middle of a message, does not. */
  readonly atByte: number;
  /**
   * `end` closes both sides in good order, `reset` breaks them, `stall` passes nothing any more and keeps them open, `delay` waits and goes
   * on, `duplicate` sends everything that the client sent so far, and what follows, once more to the server on a second connection.
   */
  readonly action: "end" | "reset" | "stall" | "delay" | "duplicate";
}

export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Faults of the next connections, one set each; connections beyond them are clean. */
  plan(faults: readonly (readonly Fault[])[]): void;
  /** Connections since the plan. */
  readonly connectionCount: number;
  /** Break every connection now. */
  resetAll(): void;
  /** Send the next connections to another port. */
  redirect(port: number): void;
}

const DELAY_MS = 30;

/** A TCP proxy on loopback that breaks connections where it is told to. */
export async function openFaultProxy(upstreamPort: number): Promise<FaultProxy> {
  let port = upstreamPort;
  let plans: readonly (readonly Fault[])[] = [];
  let count = 0;
  const open = new Set<Link>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const link = new Link(client, port, plans[count] ?? []);
    count += 1;
    open.add(link);
    client.once("close", () => open.delete(link));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP listener has no other kind of address
    plan(faults) {
      // Kept connections belong to the plan before.
      for (const link of open) link.end("reset");
      plans = faults;
      count = 0;
    },
    get connectionCount() {
      return count;
    },
    resetAll() {
      for (const link of open) link.end("reset");
    },
    redirect(nextPort) {
      port = nextPort;
    },
    async [Symbol.asyncDispose]() {
      for (const link of open) link.end("reset");
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #port: number;
  readonly #faults: Fault[];
  readonly #passed = { up: 0, down: 0 };
  readonly #sent: Buffer[] = [];
  #duplicate: Socket | undefined;
  #isOver = false;

  constructor(client: Socket, port: number, faults: readonly Fault[]) {
    this.#client = client;
    this.#port = port;
    this.#faults = [...faults];
    this.#server = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    this.#pass("up", client, this.#server);
    this.#pass("down", this.#server, client);
  }

  end(action: "end" | "reset"): void {
    this.#isOver = true;
    for (const socket of [this.#client, this.#server, this.#duplicate]) {
      if (action === "reset") socket?.resetAndDestroy();
      else socket?.end(() => socket.destroy());
    }
  }

  #pass(direction: Fault["direction"], from: Socket, to: Socket): void {
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
    from.on("end", () => to.end());
    from.on("data", (bytes: Buffer) => {
      from.pause();
      this.#forward(direction, bytes, to).then(
        () => from.resume(),
        () => {},
      );
    });
  }

  async #forward(direction: Fault["direction"], bytes: Buffer, to: Socket): Promise<void> {
    let rest = bytes;
    for (;;) {
      const fault = this.#faults.filter((one) => one.direction === direction).sort((a, b) => a.atByte - b.atByte)[0];
      const room = fault === undefined ? rest.length : Math.max(0, fault.atByte - this.#passed[direction]);
      if (fault === undefined || room >= rest.length) break;
      await this.#write(direction, rest.subarray(0, room), to);
      rest = rest.subarray(room);
      this.#faults.splice(this.#faults.indexOf(fault), 1);
      if (fault.action === "end" || fault.action === "reset") return this.end(fault.action);
      if (fault.action === "stall") await new Promise(() => {});
      if (fault.action === "delay") await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
      if (fault.action === "duplicate") this.#openDuplicate();
    }
    await this.#write(direction, rest, to);
  }

  async #write(direction: Fault["direction"], bytes: Buffer, to: Socket): Promise<void> {
    if (bytes.length === 0 || this.#isOver) return;
    this.#passed[direction] += bytes.length;
    if (direction === "up") {
      this.#sent.push(bytes);
      this.#duplicate?.write(bytes);
    }
    if (!to.write(bytes) && !to.destroyed) {
      await new Promise<void>((resolve) => {
        to.once("drain", resolve);
        to.once("close", () => resolve());
      });
    }
  }

  #openDuplicate(): void {
    if (this.#duplicate !== undefined) return;
    this.#duplicate = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    // Nobody waits for its answers.
    this.#duplicate.on("error", () => {}).resume();
    this.#duplicate.write(Buffer.concat(this.#sent));
    this.#client.once("close", () => this.#duplicate?.destroy());
  }
}
