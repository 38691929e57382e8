import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PLATFORM_FILE_NAME, type PlatformFile, parsePlatformFile } from "../../../src/shared/platform-dirs.js";
import { findLeftovers } from "../../support/leftovers.js";
import { ABX } from "../../support/run-abx.js";
import { machineTemplatesDir } from "../../support/test-platform.js";

/** A platform on one port that can be killed and started again. */
export interface KillablePlatform {
  readonly connection: () => { readonly apiUrl: string; readonly sandboxUrl: string; readonly apiKey: string };
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Start it again in the same directories; resolves when it answers. */
  start(): Promise<void>;
  /** End it; rejects when something of it is left. */
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 30_000;

export async function startKillablePlatform(): Promise<KillablePlatform> {
  // 0711: the kernel enters these directories with the ids of the sandbox.
  const rootDir = await mkdtemp(join(tmpdir(), "abx-kill-"));
  await chmod(rootDir, 0o711);
  const dataDir = join(rootDir, "data");
  const runDir = join(rootDir, "run");
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(runDir, { mode: 0o700 });
  await symlink(machineTemplatesDir(), join(dataDir, "templates"));
  const port = await freePort();
  let child: ChildProcess;
  let file: PlatformFile;

  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [ABX, "serve", "--port", String(port)], {
      env: { ...process.env, AGENT_SANDBOX_DATA_DIR: dataDir, AGENT_SANDBOX_RUN_DIR: runDir, AGENT_SANDBOX_POOL_SIZE: "0" },
      stdio: "ignore",
    });
    const endsAt = Date.now() + READY_TIMEOUT_MS;
    for (;;) {
      const found = parsePlatformFile(await readFile(join(runDir, PLATFORM_FILE_NAME), "utf8").catch(() => ""));
      if (found !== undefined && found.pid === child.pid && (await answersHealth(found.url))) {
        file = found;
        return;
      }
      if (child.exitCode !== null || Date.now() > endsAt) throw new Error(`the platform did not start (exit code ${child.exitCode})`);
      await delay(25);
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  await start();
  return {
    connection: () => ({ apiUrl: file.url, sandboxUrl: file.url, apiKey: file.apiKey }),
    kill: () => end("SIGKILL"),
    start,
    async stop() {
      await end("SIGTERM");
      const leftovers = await findLeftovers(rootDir);
      await rm(rootDir, { recursive: true, force: true });
      if (leftovers.length > 0) throw new Error(`the stopped platform left:\n${leftovers.join("\n")}`);
    },
  };
}

function answersHealth(url: string): Promise<boolean> {
  return fetch(new URL("/health", url)).then(
    (response) => response.ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // a TCP listener has no other kind of address
  await new Promise((resolve) => server.close(resolve));
  return port;
}
