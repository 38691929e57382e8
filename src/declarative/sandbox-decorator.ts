import { captureCallSite } from "./call-site.js";
import { makeRemote } from "./remote.js";
import type { RemoteOptions } from "./remote-options.js";

/**
 * Decorator of a method (the standard ones, not `experimentalDecorators`): its calls run in a sandbox, as with {@link remote}.
 *
 * The object does not go with it, so the method may not use `this`.
 *
 * ```ts
 * class Images {
 *   @sandbox({ packages: ["sharp"] })
 *   async resize(image: Uint8Array) { return sharp(image).resize(100).toBuffer(); }
 * }
 * ```
 */
export function sandbox(options: RemoteOptions = {}) {
  const site = captureCallSite(sandbox);
  return <This, Args extends unknown[], Result>(
    method: (this: This, ...args: Args) => Promise<Result>,
    context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Promise<Result>>,
  ): ((this: This, ...args: Args) => Promise<Result>) => {
    const name = String(context.name);
    // Only the text of the method is used, and one that needs its object is refused.
    const fn = method as (...args: Args) => Promise<Result>;
    const run = makeRemote({ fn, name, methodName: name }, site, options);
    return (...args) => run(...args) as Promise<Result>;
  };
}
