import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_PATH } from "../process/environment.js";

/** Where kernels can be run from. */
export interface KernelHost {
  /** Python that has `jupyter_client`. */
  readonly python: string;
  /** The program that drives kernels. */
  readonly bridge: string;
}

/**
 * Find a Python beside which kernels are installed. It is looked for at each call: a template may have none, and a user may install some. Where
 * there are none this costs a few system calls.
 *
 * @param home of the user whose kernels they are; `pip install --user` puts kernels below it.
 */
export function findKernelHost(home: string, path: string = process.env.PATH || DEFAULT_PATH): KernelHost | undefined {
  const bridge = findBridge();
  if (bridge === undefined) return undefined;
  const pythons = path.split(":").map((directory) => join(directory, "python3"));
  const python = pythons.find((file) => existsSync(file) && hasEntries(join(dirname(dirname(file)), "share/jupyter/kernels")));
  if (python !== undefined) return { python, bridge };
  const usual = pythons.find((file) => existsSync(file));
  return usual !== undefined && hasEntries(join(home, ".local/share/jupyter/kernels")) ? { python: usual, bridge } : undefined;
}

/** Beside the daemon, or beside its Node: a daemon that comes out of a snapshot does not know where it stands. */
function findBridge(): string | undefined {
  const places = [dirname(fileURLToPath(import.meta.url)), dirname(process.execPath)];
  return places.map((place) => join(place, "kernels/bridge.py")).find((file) => existsSync(file));
}

function hasEntries(directory: string): boolean {
  try {
    return readdirSync(directory).length > 0;
  } catch {
    return false;
  }
}
