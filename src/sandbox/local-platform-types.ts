/** Options of the search for the platform on this machine. */
export interface LocalPlatformOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Where the platform on this machine is. */
export interface LocalPlatform {
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  readonly apiKey: string;
}
