import type { Socket } from "node:net";

/** Connections into a sandbox on which its forwarder sends what a guest wants to have carried outside. */
export interface ChannelPoolOptions {
  /** Opens one; `undefined` when the daemon does not forward. */
  readonly open: () => Promise<Socket | undefined>;
  /** Called with a channel on which the guest has begun to speak; its bytes are still to be read. */
  readonly onActive: (channel: Socket, firstByte: number) => void;
}

/** Channels that wait for a guest. */
const IDLE_CHANNELS = 2;
/** Connections of one sandbox at a time, so that a hostile guest costs a bounded number of descriptors and buffers. */
const MAX_CHANNELS = 256;
/** Connections of one sandbox per second. */
const MAX_ACTIVATIONS_PER_S = 500;
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;

/**
 * Keeps a few idle channels open into one sandbox. The sandbox uses up one per connection and gets another; beyond the bounds it waits.
 */
export class ChannelPool {
  readonly #options: ChannelPoolOptions;
  readonly #idle = new Set<Socket>();
  readonly #active = new Set<Socket>();
  #opening = 0;
  #retryMs = MIN_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #windowStartedAt = 0;
  #activations = 0;
  #isClosed = false;

  constructor(options: ChannelPoolOptions) {
    this.#options = options;
    this.#fill();
  }

  /** Channels on which a guest speaks. */
  get activeCount(): number {
    return this.#active.size;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const channel of [...this.#idle, ...this.#active]) channel.destroy();
  }

  #fill(): void {
    const waitMs = this.#windowStartedAt + 1000 - performance.now();
    if (this.#activations >= MAX_ACTIVATIONS_PER_S && waitMs > 0) {
      this.#fillLater(waitMs);
      return;
    }
    const isWanted = () =>
      this.#idle.size + this.#opening < IDLE_CHANNELS && this.#idle.size + this.#opening + this.#active.size < MAX_CHANNELS;
    while (!this.#isClosed && this.#timer === undefined && isWanted()) void this.#open();
  }

  #fillLater(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#fill();
    }, delayMs).unref();
  }

  async #open(): Promise<void> {
    this.#opening++;
    const channel = await this.#options.open().catch(() => undefined);
    this.#opening--;
    if (channel === undefined) this.#retry();
    else if (this.#isClosed) channel.destroy();
    else this.#await(channel);
  }

  #retry(): void {
    this.#fillLater(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }

  #await(channel: Socket): void {
    this.#idle.add(channel);
    // An end of the guest must not end the answer to it.
    channel.allowHalfOpen = true;
    channel.on("error", () => channel.destroy());
    channel.once("close", () => {
      this.#active.delete(channel);
      // One that the daemon closed unused says that it is ending, or hostile.
      if (this.#idle.delete(channel)) this.#retry();
      else this.#fill();
    });
    const onReadable = () => {
      const chunk: Buffer | null = channel.read();
      if (chunk === null) {
        if (channel.readableEnded) channel.destroy();
        return;
      }
      channel.off("readable", onReadable).off("end", onEnd);
      channel.unshift(chunk);
      this.#activate(channel, chunk[0] ?? 0);
    };
    const onEnd = () => channel.destroy();
    channel.on("readable", onReadable).once("end", onEnd);
  }

  #activate(channel: Socket, firstByte: number): void {
    this.#idle.delete(channel);
    this.#active.add(channel);
    this.#retryMs = MIN_RETRY_MS;
    const now = performance.now();
    if (now - this.#windowStartedAt >= 1000) {
      this.#windowStartedAt = now;
      this.#activations = 0;
    }
    this.#activations++;
    this.#fill();
    this.#options.onActive(channel, firstByte);
  }
}
