import { posix } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";

/** Places that make a sandbox work; a mount there or above would hide them. */
const RESERVED: readonly string[] = ["/dev", "/opt/agent-sandbox", "/proc", "/run", "/sys"];
/** Of Linux (limits.h), less what the path of a sandbox's root takes. */
const MAX_PATH_BYTES = 2_048;
const MAX_NAME_BYTES = 255;

/**
 * Check where mounts go inside: absolute, clean, each only once, not over what a sandbox needs, and no longer than a path can be.
 *
 * @throws {@link InvalidArgumentError} one breaks a rule.
 */
export function assertMountTargets(targets: readonly string[]): void {
  for (const [index, target] of targets.entries()) {
    const isClean = target.startsWith("/") && target !== "/" && !target.includes("\0") && posix.normalize(target) === target;
    if (!isClean || target.endsWith("/")) {
      throw new InvalidArgumentError(`the mount path ${JSON.stringify(target)} must be absolute and clean, like "/data"`);
    }
    if (Buffer.byteLength(target) > MAX_PATH_BYTES || target.split("/").some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
      throw new InvalidArgumentError(`the mount path "${target.slice(0, 40)}…" is too long: names have up to ${MAX_NAME_BYTES} bytes`);
    }
    if (RESERVED.some((path) => target === path || target.startsWith(`${path}/`))) {
      throw new InvalidArgumentError(`the mount path "${target}" is one that the sandbox itself needs; choose another, like "/data"`);
    }
    if (targets.indexOf(target) !== index) throw new InvalidArgumentError(`the mount path "${target}" is there twice`);
  }
}
