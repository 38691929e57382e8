const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export type EndingSignal = (typeof ENDING_SIGNALS)[number];

/** Watches for signals that ask this process to end, until it is disposed. */
export interface SignalWatch extends Disposable {
  /** The first that came. */
  readonly received: EndingSignal | undefined;
}

/** Call `onSignal` for the first signal that asks this process to end, in place of ending at once. */
export function watchEndingSignals(onSignal: (signal: EndingSignal) => void): SignalWatch {
  let received: EndingSignal | undefined;
  const handle = (signal: EndingSignal): void => {
    if (received !== undefined) return;
    received = signal;
    onSignal(signal);
  };
  for (const signal of ENDING_SIGNALS) process.on(signal, handle);
  return {
    get received() {
      return received;
    },
    [Symbol.dispose]: () => {
      for (const signal of ENDING_SIGNALS) process.off(signal, handle);
    },
  };
}
