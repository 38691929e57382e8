// Runs a command against a platform of its own: `node with-platform.mjs <command> [arguments]`.
//
// The platform has private run and data directories (templates are the machine's) and is stopped by its pid at the end. The command finds
// it through E2B_API_URL, E2B_SANDBOX_URL, E2B_VOLUME_API_URL and E2B_API_KEY. The exit code is that of the command.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ABX = fileURLToPath(new URL("../../dist/cli/abx.js", import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

const [command, ...args] = process.argv.slice(2);
if (command === undefined) throw new Error("usage: with-platform.mjs <command> [arguments]");

const rootDir = await mkdtemp(path.join(tmpdir(), "abx-conformance-"));
let platform;
try {
  platform = await startPlatform(rootDir);
  const child = spawn(command, args, {
    stdio: "inherit",
    env: {
      ...process.env,
      E2B_API_URL: platform.url,
      E2B_SANDBOX_URL: platform.url,
      E2B_VOLUME_API_URL: platform.url,
      E2B_API_KEY: platform.apiKey,
      E2B_VALIDATE_API_KEY: "false",
    },
  });
  const [code] = await once(child, "exit");
  process.exitCode = code ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  if (platform !== undefined) await stop(platform.process);
  await rm(rootDir, { recursive: true, force: true });
}

async function startPlatform(root) {
  // 0711: the kernel enters these directories with the ids of the sandbox.
  await chmod(root, 0o711);
  const dataDir = path.join(root, "data");
  const runDir = path.join(root, "run");
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(runDir, { mode: 0o700 });
  await symlink(path.join(machineDataDir(), "templates"), path.join(dataDir, "templates"));
  const child = spawn(process.execPath, [ABX, "serve", "--port", "0"], {
    env: { ...process.env, AGENT_SANDBOX_DATA_DIR: dataDir, AGENT_SANDBOX_RUN_DIR: runDir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    log = (log + chunk).slice(-8192);
    if (process.env.CONFORMANCE_LOG) process.stderr.write(chunk);
  });
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const file = await readFile(path.join(runDir, "platform.json"), "utf8").then(JSON.parse, () => undefined);
    if (
      file?.url &&
      (await fetch(new URL("/health", file.url)).then(
        (answer) => answer.ok,
        () => false,
      ))
    ) {
      return { process: child, url: file.url, apiKey: file.apiKey };
    }
    await sleep(50);
  }
  await stop(child);
  throw new Error(`the platform did not start (exit code ${child.exitCode}); it said: ${log.trim() || "nothing"}`);
}

function machineDataDir() {
  if (process.env.AGENT_SANDBOX_DATA_DIR) return process.env.AGENT_SANDBOX_DATA_DIR;
  if (process.getuid?.() === 0) return "/var/lib/agent-sandbox";
  return path.join(process.env.XDG_DATA_HOME || path.join(homedir(), ".local/share"), "agent-sandbox");
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
