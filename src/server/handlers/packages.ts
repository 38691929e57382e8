import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { oneOf } from "../fields.js";
import type { ProgramEnd } from "../programs.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

interface Package {
  readonly name: string;
  readonly version: string;
}

const TIMEOUT_MS = 30_000;
const MANAGERS = ["pip", "npm"] as const;
const WORDS = {
  pip: ["python3", "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
  npm: ["npm", "list", "--global", "--json", "--depth=0"],
} as const;

/** The installed packages. */
export function createPackagesHandler({ programs }: ServerServices): Pick<RouteHandlers, "listPackages"> {
  return {
    listPackages: async ({ query, signal }) => {
      const manager = oneOf(query.get("manager"), "manager", MANAGERS, "pip");
      let end: ProgramEnd;
      try {
        end = await programs.run({ words: WORDS[manager], timeoutMs: TIMEOUT_MS }, signal);
      } catch (error) {
        // No such program, so nothing that it installed.
        if (error instanceof InvalidArgumentError) return { manager, packages: [] };
        throw error;
      }
      if (end.isTimedOut) throw new RouteFailure(500, "TimeoutError", `${manager} did not answer within ${TIMEOUT_MS / 1000} s`, "timeout");
      const packages = manager === "pip" ? fromPip(end.stdout) : fromNpm(end.stdout);
      return { manager, packages: packages.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  };
}

function fromPip(stdout: string): Package[] {
  const listed = parse(stdout);
  return Array.isArray(listed) ? listed.filter(isPackage).map(({ name, version }) => ({ name, version })) : [];
}

function fromNpm(stdout: string): Package[] {
  const { dependencies } = (parse(stdout) ?? {}) as { dependencies?: unknown };
  if (typeof dependencies !== "object" || dependencies === null) return [];
  return Object.entries(dependencies)
    .map(([name, facts]: [string, unknown]) => ({ name, version: (facts as { version?: unknown } | null)?.version }))
    .filter(isPackage);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPackage(value: unknown): value is Package {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    "version" in value &&
    typeof value.name === "string" &&
    typeof value.version === "string"
  );
}
