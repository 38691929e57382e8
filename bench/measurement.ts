/** How to reach the platform that is measured. */
export interface BenchPlatform {
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  readonly apiKey: string;
  /** Resolves once the platform logged an event `count` times. */
  readonly untilLogged: (event: string, count: number) => Promise<void>;
}

/** Starts platforms of its own for one measurement; each ends with the measurement. */
export type StartPlatform = (env?: Readonly<Record<string, string>>) => Promise<BenchPlatform>;

/** One number with the value it should reach. `atMost` and `atLeast` exclude each other. */
export interface BenchValue {
  /** Key in `latest.json`; a dot nests. */
  readonly key: string;
  readonly value: number;
  readonly target?: { readonly atMost: number } | { readonly atLeast: number };
}

/** One file of `bench/measurements/` exports one. */
export interface Measurement {
  readonly name: string;
  measure(startPlatform: StartPlatform): Promise<readonly BenchValue[]>;
}
