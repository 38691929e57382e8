import { chownSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { InternalError } from "../../../errors/error-classes.js";
import { RUNTIME_MOUNT } from "./bundle.js";
import type { OciSpec } from "./oci-spec.js";

/** The OCI runtime of gVisor. */
export const GVISOR = "runsc";

/** What it needs beside the options of every runtime: a guest may bind sockets in what is mounted, and open none; no network but its own loopback. */
export const GVISOR_FLAGS: readonly string[] = ["--host-uds=create", "--network=none"];

const SOCKET_MOUNT = "/opt/agent-sandbox-socket";
const SOCKET_NAME = "daemon.sock";
const INIT = `exec 2>/run/agent-sandbox.log
${RUNTIME_MOUNT}/node ${RUNTIME_MOUNT}/daemon.mjs --socket ${SOCKET_MOUNT}/${SOCKET_NAME} &
wait $!`;
const DEADLINE_MS = 60_000;
const PAUSE_MS = 20;

/**
 * The configuration of a sandbox in the form that suits gVisor.
 *
 * It passes no descriptor into a sandbox, so the daemon binds a socket itself, in a directory that is empty otherwise. Processes of the
 * guest are none of the machine's: a limit of those would count the threads of gVisor and kill it. It filters its own system calls.
 */
export function toGvisorSpec(spec: OciSpec, socketDir: string, hasDaemon: boolean): OciSpec {
  const { seccomp: _, resources, ...linux } = spec.linux;
  const { pids: __, ...kept } = resources;
  const socketMount = { destination: SOCKET_MOUNT, type: "bind", source: socketDir, options: ["bind", "rw", "nosuid", "nodev"] };
  return {
    ...spec,
    process: { ...spec.process, ...(hasDaemon && { args: ["/bin/sh", "-c", INIT] }) },
    mounts: hasDaemon ? [...spec.mounts, socketMount] : spec.mounts,
    linux: { ...linux, resources: kept },
  };
}

/** Make the directory in which the daemon binds. gVisor walks to it with the ids of the sandbox, so it stands in the sandbox's own. */
export function makeSocketDir(directory: string, hostIdBase: number): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { mode: 0o700 });
  chownSync(directory, hostIdBase, hostIdBase);
}

/** Where the socket of a daemon is bound, is moved to, and is looked for. */
export interface SocketPlaces {
  /** The guest may do here what it likes. */
  readonly guestDir: string;
  /** Of the sandbox, where only the host may write. */
  readonly directory: string;
  /** Becomes a link, because the place of sockets may be another file system. */
  readonly path: string;
}

/**
 * Wait until the daemon listens, and move its socket out of the reach of the guest: the host never connects to a name that a guest can
 * replace by a link.
 *
 * @throws {@link InternalError} it does not listen in time, or `isAlive` says that it never will.
 */
export async function claimSocket({ guestDir, directory, path }: SocketPlaces, isAlive: () => boolean): Promise<void> {
  const bound = join(guestDir, SOCKET_NAME);
  const claimed = join(directory, SOCKET_NAME);
  const endsAt = performance.now() + DEADLINE_MS;
  while (lstatSync(bound, { throwIfNoEntry: false }) === undefined) {
    if (performance.now() > endsAt || !isAlive()) throw new InternalError("the daemon in gVisor did not start");
    await delay(PAUSE_MS);
  }
  rmSync(claimed, { recursive: true, force: true });
  renameSync(bound, claimed);
  // Only now can nobody change any more what it is.
  if (!lstatSync(claimed).isSocket()) throw new InternalError("the daemon in gVisor left something else in the place of its socket");
  symlinkSync(claimed, path);
  while (!(await answers(path))) {
    if (performance.now() > endsAt || !isAlive()) throw new InternalError("the daemon in gVisor does not listen");
    await delay(PAUSE_MS);
  }
}

/** Names of the state that a runtime keeps of a container: a directory of its id, or files that begin with it. */
export function stateEntries(stateDir: string, id: string): string[] {
  return readdirSync(stateDir).filter((name) => name === id || name.startsWith(`${id}_sandbox:`));
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
