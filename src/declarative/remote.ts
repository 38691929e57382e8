import { InvalidArgumentError } from "../errors/error-classes.js";
import { type CallSite, captureCallSite } from "./call-site.js";
import type { SentFunction } from "./function-source.js";
import { type RemoteFunction, toRemoteFunction } from "./remote-function.js";
import { type RemoteOptions, toSettings } from "./remote-options.js";
import { RemoteRunner } from "./remote-runner.js";

/**
 * Make a function run in a sandbox. What it imports goes with it, bundled by esbuild, which must be installed.
 *
 * The function is taken out of its module: it may use its arguments, what it imports and what every program has, but no variable around it.
 * That is checked at the first call, which rejects with an {@link InvalidArgumentError} that names the variable.
 *
 * A call rejects with what the function threw, a copy with the stack of the sandbox, and with a {@link SandboxError} for everything else:
 * {@link SerializationError} a value is no data, {@link TimeoutError} it took longer than `timeoutMs`, `command_exit` its process ended
 * before it returned.
 *
 * ```ts
 * const resize = remote(async (image: Uint8Array) => sharp(image).resize(100).toBuffer(), { packages: ["sharp"] });
 * ```
 */
export function remote<Args extends unknown[], Result>(
  fn: (...args: Args) => Result,
  options: RemoteOptions = {},
): RemoteFunction<Args, Awaited<Result>> {
  return makeRemote({ fn, name: nameOf(fn) }, captureCallSite(remote), options);
}

/** As {@link remote}, for a function that is given to us at `site`. */
export function makeRemote<Args extends unknown[], Result>(
  sent: Omit<SentFunction, "site"> & { readonly fn: (...args: Args) => Result },
  site: () => CallSite | undefined,
  options: RemoteOptions,
): RemoteFunction<Args, Awaited<Result>> {
  const { fn, name } = sent;
  if (typeof fn !== "function") throw new InvalidArgumentError(`remote needs a function, not ${fn === null ? "null" : typeof fn}`);
  if (/Generator/.test(Object.prototype.toString.call(fn))) {
    throw new InvalidArgumentError(`${name} is a generator, which cannot run in a sandbox: return an array`);
  }
  const settings = toSettings(options);
  const runner = new RemoteRunner(settings, async () => {
    // The parser is loaded by those who call, and not by everybody who imports.
    const { toFunctionProgram } = await import("./function-program.js");
    return toFunctionProgram({ ...sent, site: site() }, settings.packages);
  });
  return toRemoteFunction(runner, name);
}

function nameOf(fn: unknown): string {
  return typeof fn === "function" && fn.name !== "" ? fn.name : "the remote function";
}
