import { afterEach, beforeEach, vi } from "vitest";

/** The tests of a file see no settings of the machine that they run on. */
export function hideAmbientSettings(): void {
  beforeEach(() => {
    for (const name of Object.keys(process.env)) {
      if (/^(AGENT_SANDBOX|E2B|SANDBOX|FCSANDBOX|ALIBABA_CLOUD|ALICLOUD)_/.test(name)) vi.stubEnv(name, undefined);
    }
    // Where no configuration file is.
    vi.stubEnv("XDG_CONFIG_HOME", "/nonexistent");
  });
  afterEach(() => vi.unstubAllEnvs());
}
