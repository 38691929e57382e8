import { InvalidArgumentError } from "../errors/error-classes.js";
import { assertText } from "../shared/text-check.js";

/** Longest life in milliseconds: the wire counts whole seconds in 32 bits. */
const MAX_LIFE_MS = (2 ** 31 - 1) * 1000;

/**
 * Check the life of a sandbox.
 *
 * @throws {@link InvalidArgumentError} not a finite number, negative, or above the maximum of about 68 years.
 */
export function checkLifeMs(value: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || value > MAX_LIFE_MS) {
    throw new InvalidArgumentError(`timeoutMs must be a number of milliseconds between 0 and ${MAX_LIFE_MS}, not ${String(value)}`);
  }
  return value;
}

/** The same for a life that must be given. */
export function requireLifeMs(timeoutMs: number): number {
  const lifeMs = checkLifeMs(timeoutMs);
  if (lifeMs === undefined) throw new InvalidArgumentError("timeoutMs must be given");
  return lifeMs;
}

/**
 * Copy environment variables; an `undefined` value leaves the variable out.
 *
 * @throws {@link InvalidArgumentError} a name is empty or holds `=` or NUL, or a value cannot be an environment value.
 */
export function checkEnvs(envs: Readonly<Record<string, string | undefined>> | undefined): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(envs ?? {})) {
    if (value === undefined) continue;
    assertText("the name of an environment variable", name);
    if (name === "" || name.includes("=")) {
      throw new InvalidArgumentError(`the name of an environment variable must be non-empty and without "=", not ${JSON.stringify(name)}`);
    }
    assertText(`envs.${name}`, value);
    checked[name] = value;
  }
  return checked;
}

/**
 * Check a user name, which travels where a colon separates.
 *
 * @throws {@link InvalidArgumentError} it is empty or holds a colon, NUL or half a surrogate pair.
 */
export function checkUser(user: string | undefined): string | undefined {
  if (user === undefined) return undefined;
  assertText("user", user);
  if (user === "" || user.includes(":")) throw new InvalidArgumentError(`user must be a name without ":", not ${JSON.stringify(user)}`);
  return user;
}

/**
 * Check a process id.
 *
 * @throws {@link InvalidArgumentError} not a positive 32-bit integer.
 */
export function checkPid(pid: number): number {
  if (!Number.isInteger(pid) || pid < 1 || pid > 2 ** 32 - 1) {
    throw new InvalidArgumentError(`pid must be a positive whole number, not ${String(pid)}`);
  }
  return pid;
}

/** @throws {@link InvalidArgumentError} it is no id at all. */
export function checkSandboxId(sandboxId: string): void {
  assertText("sandboxId", sandboxId);
  if (sandboxId === "") throw new InvalidArgumentError("sandboxId must not be empty");
}
