import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isProcessAlive } from "../../src/shared/process-lock-node.js";
import { findLeftovers } from "../support/leftovers.js";
import { describeOnPlatform } from "../support/platform.js";
import { machineTemplatesDir } from "../support/test-platform.js";

const ENTRY = fileURLToPath(new URL("../../dist/node/index.js", import.meta.url));
const PROGRAM = `
  const { findOrStartLocalPlatform } = await import(process.argv[1]);
  const found = await Promise.all([findOrStartLocalPlatform(), findOrStartLocalPlatform()]);
  console.log(JSON.stringify(found.map(({ apiUrl }) => apiUrl)));
`;

describeOnPlatform("starting the local platform", () => {
  let rootDir = "";
  let runDir = "";
  let env: Record<string, string | undefined> = {};

  beforeEach(async () => {
    rootDir = await mkdtemp(path.join(tmpdir(), "abx-start-"));
    await chmod(rootDir, 0o711);
    const dataDir = path.join(rootDir, "data");
    runDir = path.join(rootDir, "run");
    await mkdir(dataDir, { mode: 0o711 });
    await symlink(machineTemplatesDir(), path.join(dataDir, "templates"));
    env = { PATH: process.env.PATH, AGENT_SANDBOX_DATA_DIR: dataDir, AGENT_SANDBOX_RUN_DIR: runDir, AGENT_SANDBOX_POOL_SIZE: "0" };
  });
  afterEach(() => rm(rootDir, { recursive: true, force: true }));

  const findInOwnProcess = async (): Promise<string[]> => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, ENTRY], { env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    await once(child, "close");
    return JSON.parse(text) as string[];
  };

  const runningPid = async (): Promise<number> =>
    (JSON.parse(await readFile(path.join(runDir, "platform.json"), "utf8")) as { pid: number }).pid;

  const stop = async (pid: number): Promise<void> => {
    process.kill(pid, "SIGTERM");
    while (isProcessAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it("happens once, however many processes ask at once, and the next one after a crash starts a new one", async () => {
    const urls = (await Promise.all(Array.from({ length: 4 }, findInOwnProcess))).flat();
    expect(urls).toHaveLength(8);
    expect(new Set(urls).size).toBe(1);
    const first = await runningPid();

    process.kill(first, "SIGKILL");
    while (isProcessAlive(first)) await new Promise((resolve) => setTimeout(resolve, 20));
    await findInOwnProcess();
    const second = await runningPid();
    expect(second).not.toBe(first);

    await stop(second);
    expect((await readdir(runDir)).filter((name) => name.startsWith("launch.lock"))).toEqual([]);
    expect(await findLeftovers(rootDir)).toEqual([]);
  });
});
