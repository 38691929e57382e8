import type * as Esbuild from "esbuild";
import { FailedPreconditionError } from "../errors/error-classes.js";

/**
 * The bundler, which is a package of the user: it is large, and only remote functions need it.
 *
 * @throws {@link FailedPreconditionError} it is not installed.
 */
export async function loadEsbuild(): Promise<typeof Esbuild> {
  try {
    return await import("esbuild");
  } catch (cause) {
    throw new FailedPreconditionError("remote functions are bundled by esbuild, which cannot be loaded: npm install esbuild", {
      operation: "remote",
      cause,
    });
  }
}
