const PROBE_TIMEOUT_MS = 2_000;

/** True when a control plane answers at the URL. Plain `node:http`: the first `fetch` of a process costs tens of milliseconds. */
export function answersHealth(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    // Loaded here and not at import: the package must be cheap for programs that never use the local platform.
    const { get } = process.getBuiltinModule("node:http");
    const request = get(new URL("/health", url), { timeout: PROBE_TIMEOUT_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode !== undefined && response.statusCode < 300);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
    request.on("close", () => resolve(false));
  });
}
