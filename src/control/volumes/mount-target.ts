import { posix } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";

/** Places that make a sandbox work; a mount there or above would hide them. */
const RESERVED: readonly string[] = ["/dev", "/opt/agent-sandbox", "/proc", "/run", "/sys"];

/**
 * Check where mounts go inside: absolute, clean, each only once, not over what a sandbox needs.
 *
 * @throws {@link InvalidArgumentError} one breaks a rule.
 */
export function assertMountTargets(targets: readonly string[]): void {
  for (const [index, target] of targets.entries()) {
    const isClean = target.startsWith("/") && target !== "/" && !target.includes("\0") && posix.normalize(target) === target;
    if (!isClean || target.endsWith("/")) {
      throw new InvalidArgumentError(`the mount path ${JSON.stringify(target)} must be absolute and clean, like "/data"`);
    }
    if (RESERVED.some((path) => target === path || target.startsWith(`${path}/`))) {
      throw new InvalidArgumentError(`the mount path "${target}" is one that the sandbox itself needs; choose another, like "/data"`);
    }
    if (targets.indexOf(target) !== index) throw new InvalidArgumentError(`the mount path "${target}" is there twice`);
  }
}
