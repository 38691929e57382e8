import { FailedPreconditionError } from "../errors/error-classes.js";
import { findOwnFile, PACKAGE_NAME } from "./package-root.js";

/**
 * Path of the built `abx` program of this package.
 *
 * @throws {@link FailedPreconditionError} the package's files are not beside this module, as in a bundled application.
 */
export function findAbxPath(): string {
  const abxPath = findOwnFile("dist", "cli", "abx.js");
  if (abxPath !== undefined) return abxPath;
  throw new FailedPreconditionError(
    `cannot start the local platform: dist/cli/abx.js of ${PACKAGE_NAME} cannot be found; install ${PACKAGE_NAME} without bundling it, ` +
      "or run `abx serve` yourself and set AGENT_SANDBOX_API_URL and AGENT_SANDBOX_API_KEY",
    { operation: "localPlatform" },
  );
}
