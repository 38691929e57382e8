import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../../shared/message-of.js";
import type { Logger } from "../../logger.js";
import { DAEMON_BLOB } from "./bundle.js";
import type { PackageFiles } from "./package-files.js";

/** At the lowest priority a busy machine may take long. */
const DEADLINE_MS = 300_000;
/** The status with which the daemon ends when its command line says nothing to do. */
const USAGE_STATUS = 2;

/** A snapshot that is being made. */
export interface SnapshotBuild {
  /** Resolves when it is there, or when there will be none. */
  readonly done: Promise<void>;
  /** Stop it and leave nothing. */
  cancel(): Promise<void>;
}

/**
 * Make the start-up snapshot of the daemon in a runtime directory, unless it is there: sandboxes that start afterwards read their daemon
 * from it, loaded and compiled, in half the time. It fits only the Node that made it, so it cannot come with the package.
 *
 * It is made aside, at the lowest priority. A snapshot that does not start is never used, and without one everything works.
 */
export function startSnapshotBuild(runtimeDir: string, files: PackageFiles, logger: Logger): SnapshotBuild {
  const target = join(runtimeDir, DAEMON_BLOB);
  const staged = `${target}.new`;
  let isCancelled = false;
  let child: ChildProcess | undefined;

  const runNode = async (args: readonly string[]): Promise<number | null> => {
    if (isCancelled) return null;
    const started = spawn(join(runtimeDir, "node"), args, { env: {}, stdio: "ignore", timeout: DEADLINE_MS, killSignal: "SIGKILL" });
    child = started;
    if (started.pid !== undefined) setPriority(started.pid, constants.priority.PRIORITY_LOW);
    return new Promise((resolve, reject) => {
      started.once("error", reject);
      started.once("exit", resolve);
    });
  };

  const build = async (): Promise<void> => {
    try {
      const built = await runNode(["--snapshot-blob", staged, "--build-snapshot", files.snapshotBuilder, files.snapshot]);
      const started = built === 0 ? await runNode(["--snapshot-blob", staged, "daemon.mjs"]) : null;
      if (isCancelled) return;
      if (started !== USAGE_STATUS) throw new Error(`building ended with ${built}, starting with ${started}`);
      chmodSync(staged, 0o644);
      renameSync(staged, target);
      logger.info("snapshot.built");
    } catch (error) {
      logger.warn("snapshot.failed", { message: messageOf(error) });
    } finally {
      rmSync(staged, { force: true });
    }
  };

  const done = existsSync(target) ? Promise.resolve() : build();
  return {
    done,
    async cancel() {
      isCancelled = true;
      child?.kill("SIGKILL");
      await done;
    },
  };
}
