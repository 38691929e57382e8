import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { InternalError } from "../../../errors/error-classes.js";
import { ROOTFS_DIR } from "./bundle.js";
import { writableDir } from "./disk-image.js";
import { GVISOR, GVISOR_FLAGS } from "./gvisor.js";
import { lowerOption } from "./sandbox-files.js";

/** One call of an OCI runtime. */
export interface RunOptions {
  readonly id: string;
  readonly runtimePath: string;
  /** Directory of this runtime's state. */
  readonly stateDir: string;
  /** Bundle directory with `config.json`, links to the layers, `upper/`, `work/` and `rootfs/`. */
  readonly bundleDir: string;
  /** Becomes fd 3 of pid 1. */
  readonly listenFd?: number;
  /** Wait for the end of the container instead of its start. */
  readonly isForeground?: boolean;
}

const LOG_FILE = "runtime.log";
const DEADLINE_MS = 30_000;
const KEPT_LOG_CHARACTERS = 2_000;

/**
 * Mounts the overlay and becomes the runtime. Both happen in a mount namespace that no other process enters: the container's own
 * namespace is a copy of it, so when the sandbox ends, or the runtime dies half-way, there is no mount to clean up.
 *
 * Names are relative to the bundle directory, so no host path shows in the mount table inside and none needs escaping. The call of mount(2) is
 * asked for because the newer one takes only 256 characters per option.
 */
const MOUNT_AND_RUN = `LIBMOUNT_FORCE_MOUNT2=always mount -t overlay -o "nodev,lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay ${ROOTFS_DIR} 2>>${LOG_FILE} && shift 2 && exec "$@"`;

/**
 * Start a container from a prepared bundle; resolves when it runs.
 *
 * @throws {@link InternalError} the runtime refused; the message holds its log.
 */
export async function runContainer(options: RunOptions): Promise<void> {
  const { id, runtimePath, stateDir, bundleDir, listenFd, isForeground = false } = options;
  const runtime = [
    runtimePath,
    "--root",
    stateDir,
    "--log",
    join(bundleDir, LOG_FILE),
    ...(basename(runtimePath) === GVISOR ? GVISOR_FLAGS : []),
    "run",
    ...(isForeground ? [] : ["--detach"]),
    ...(listenFd === undefined ? [] : ["--preserve-fds", "1"]),
    "--bundle",
    bundleDir,
    id,
  ];
  const child = spawn(
    "unshare",
    ["--mount", "--propagation", "private", "sh", "-c", MOUNT_AND_RUN, "sh", lowerOption(bundleDir), writableDir(bundleDir), ...runtime],
    {
      cwd: bundleDir,
      // The init process inherits these, so none of them may lead to this process.
      stdio: ["ignore", "ignore", "ignore", ...(listenFd === undefined ? [] : [listenFd])],
      timeout: DEADLINE_MS,
      killSignal: "SIGKILL",
    },
  );
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (...outcome) => resolve(outcome));
  });
  if (code !== 0) {
    throw new InternalError(`${runtimePath} did not start sandbox "${id}" (${signal ?? `exit code ${code}`}): ${readLog(bundleDir)}`);
  }
}

/** The runtimes log JSON objects or `key="value"` pairs; what counts are their messages. */
function readLog(bundleDir: string): string {
  try {
    return readFileSync(join(bundleDir, LOG_FILE), "utf8").slice(-KEPT_LOG_CHARACTERS).trim() || "it said nothing";
  } catch {
    return "it said nothing";
  }
}
