import { FailedPreconditionError } from "../errors/error-classes.js";
import type { InstanceLimits, IsolationLevel, IsolationReport } from "./drivers/driver.js";

/** Weakest first. */
const LEVELS: readonly IsolationLevel[] = ["container", "gvisor", "vm"];

/** What a caller may do when the wall is too low. */
const ADVICE: Readonly<Record<IsolationLevel, string>> = {
  container: "",
  gvisor: 'install gVisor with "abx setup --runtime runsc" and start the platform with AGENT_SANDBOX_RUNTIME=runsc',
  vm: "this platform has no virtual machines; use a service that does",
};

/**
 * Refuse a sandbox that would be isolated less than its creator asked for.
 *
 * @throws {@link FailedPreconditionError} `actual` is weaker than `minimum`.
 */
export function assertIsolation(actual: IsolationLevel, minimum: IsolationLevel): void {
  if (LEVELS.indexOf(actual) >= LEVELS.indexOf(minimum)) return;
  throw new FailedPreconditionError(`minimumIsolation is "${minimum}", but sandboxes here have "${actual}": ${ADVICE[minimum]}`);
}

/** Limits that one sandbox has, of those that the machine enforces. */
export interface EnforcedLimits {
  readonly memoryMB?: number;
  readonly cpuCount?: number;
  readonly processes?: number;
  readonly openFiles?: number;
  readonly diskMB?: number;
}

/** The limits of a sandbox, without those that this machine cannot enforce. */
export function toEnforcedLimits({ limits, openFiles }: IsolationReport, given: InstanceLimits): EnforcedLimits {
  const { memoryBytes, cpuCount, pidsMax, diskBytes } = given;
  return {
    ...(limits.memory && { memoryMB: toMib(memoryBytes) }),
    ...(limits.cpu && { cpuCount }),
    ...(limits.pids && { processes: pidsMax }),
    ...(openFiles !== undefined && { openFiles }),
    ...(limits.disk && diskBytes !== undefined && { diskMB: toMib(diskBytes) }),
  };
}

function toMib(bytes: number): number {
  return Math.round(bytes / (1024 * 1024));
}
