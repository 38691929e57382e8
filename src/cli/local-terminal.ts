/** Window of a terminal, in characters. */
export interface WindowSize {
  readonly cols: number;
  readonly rows: number;
}

/** Where keys and window changes go. A handler that rejects stops nothing: the end of the remote side is reported elsewhere. */
export interface TerminalHandlers {
  readonly onInput: (data: Uint8Array) => Promise<void>;
  readonly onInputEnd: () => Promise<void>;
  readonly onResize: (size: WindowSize) => Promise<void>;
}

/** The terminal of this process; without one, its stdin and a window of 80 × 24. */
export interface LocalTerminal {
  size(): WindowSize;
  /** Raw keys go to the handlers until disposed, which leaves the terminal as it was. */
  attach(handlers: TerminalHandlers): Disposable;
}

const DEFAULT_SIZE: WindowSize = { cols: 80, rows: 24 };

export function openLocalTerminal(stdin: NodeJS.ReadStream = process.stdin, stdout: NodeJS.WriteStream = process.stdout): LocalTerminal {
  const size = (): WindowSize =>
    stdout.isTTY ? { cols: stdout.columns || DEFAULT_SIZE.cols, rows: stdout.rows || DEFAULT_SIZE.rows } : DEFAULT_SIZE;
  return {
    size,
    attach: ({ onInput, onInputEnd, onResize }) => {
      const wasRaw = stdin.isRaw;
      const restore = (): void => void (stdin.isTTY && stdin.setRawMode(wasRaw));
      const sender = new InOrderSender(onInput);
      const handleData = (chunk: Uint8Array): void => sender.send(chunk);
      const handleEnd = (): void => sender.finish(onInputEnd);
      const handleResize = (): void => void onResize(size()).catch(() => undefined);
      if (stdin.isTTY) stdin.setRawMode(true);
      stdin.on("data", handleData);
      stdin.once("end", handleEnd);
      stdout.on("resize", handleResize);
      // An uncaught failure ends the process without disposing anything.
      process.once("exit", restore);
      return {
        [Symbol.dispose]: () => {
          stdin.off("data", handleData);
          stdin.off("end", handleEnd);
          stdin.pause();
          stdout.off("resize", handleResize);
          process.off("exit", restore);
          restore();
        },
      };
    },
  };
}

/** Sends keys one request at a time, as two at once could overtake each other; what is typed meanwhile goes together. */
class InOrderSender {
  readonly #send: (data: Uint8Array) => Promise<void>;
  #waiting: Uint8Array[] = [];
  #onDrained: (() => Promise<void>) | undefined;
  #isSending = false;

  constructor(send: (data: Uint8Array) => Promise<void>) {
    this.#send = send;
  }

  send(data: Uint8Array): void {
    this.#waiting.push(data);
    void this.#drain();
  }

  finish(onDrained: () => Promise<void>): void {
    this.#onDrained = onDrained;
    void this.#drain();
  }

  async #drain(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#waiting.length > 0) await this.#send(Buffer.concat(this.#waiting.splice(0)));
      await this.#onDrained?.();
    } catch {
      // The remote side is gone; its ending is reported by the handle of the terminal.
      this.#waiting = [];
    } finally {
      this.#isSending = false;
    }
  }
}
