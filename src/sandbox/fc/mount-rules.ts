import { InvalidArgumentError } from "../../errors/error-classes.js";
import { assertText } from "../../shared/text-check.js";

/** Most mounts of one kind of storage. */
const MAX_MOUNTS = 5;
/** Directories of the system, over which the service mounts nothing. */
const SYSTEM = ["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "sys", "usr", "var"];

/** What a text must be like. */
export interface TextRule {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Check a text of an extension; an optional one may be absent.
 *
 * @throws {@link InvalidArgumentError} it is empty, too short or too long.
 */
export function checkText(name: string, value: string | undefined, { min = 1, max = Number.POSITIVE_INFINITY }: TextRule = {}): void {
  assertText(name, value);
  if (value.length >= min && value.length <= max) return;
  const bounds = max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`;
  throw new InvalidArgumentError(`${name} must have ${bounds} characters, not ${value.length}`);
}

/** @throws {@link InvalidArgumentError} there are none, or more than five. */
export function checkMountCount(name: string, mountPoints: readonly unknown[] | undefined): void {
  if (!Array.isArray(mountPoints) || mountPoints.length === 0) throw new InvalidArgumentError(`${name} must have at least one mount`);
  if (mountPoints.length > MAX_MOUNTS) {
    throw new InvalidArgumentError(`${name} must have at most ${MAX_MOUNTS} mounts, not ${mountPoints.length}`);
  }
}

/**
 * Check where something is mounted.
 *
 * @throws {@link InvalidArgumentError} the path is relative, the root, too long, under a directory of the system, or hidden.
 */
export function checkMountDir(name: string, path: string, max: number): void {
  checkText(name, path, { min: 2, max });
  const refuse = (why: string): never => {
    throw new InvalidArgumentError(`${name} ${why}, not ${JSON.stringify(path)}; use a directory under /home, /mnt, /tmp or /data`);
  };
  if (!path.startsWith("/")) refuse("must be absolute");
  const parts = path.split("/").filter((part) => part !== "");
  if (parts.length === 0) refuse("must not be the root");
  if (parts.some((part) => part.startsWith("."))) refuse("must not have parts that begin with a dot");
  if (SYSTEM.includes(parts[0] ?? "")) refuse("must not be under a directory of the system");
}

/** @throws {@link InvalidArgumentError} two mounts share a place. */
export function checkDistinct(paths: readonly string[]): void {
  const seen = new Set<string>();
  for (const path of paths) {
    const place = path.replace(/\/+/g, "/").replace(/(.)\/$/, "$1");
    if (seen.has(place)) throw new InvalidArgumentError(`two mounts have the mountDir ${JSON.stringify(place)}`);
    seen.add(place);
  }
}

/** @throws {@link InvalidArgumentError} it is no ARN of a RAM role. */
export function checkRole(name: string, role: string): void {
  assertText(name, role);
  if (!/^acs:ram::\d+:role\/[\w.-]+$/.test(role)) {
    throw new InvalidArgumentError(`${name} must be an ARN such as "acs:ram::1234567890:role/name", not ${JSON.stringify(role)}`);
  }
}
