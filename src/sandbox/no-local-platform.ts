import { FailedPreconditionError } from "../errors/error-classes.js";
import type { LocalPlatform, LocalPlatformOptions } from "./local-platform-types.js";

/** Runtimes that are not Node cannot start processes, so they have no local platform. */
export async function findOrStartLocalPlatform(_options?: LocalPlatformOptions): Promise<LocalPlatform> {
  throw new FailedPreconditionError(
    "this runtime has no local platform: pass apiUrl and apiKey, or run on Node, where the platform starts by itself",
    { operation: "sandbox.create" },
  );
}
