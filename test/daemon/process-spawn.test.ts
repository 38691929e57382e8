import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LibcLoader } from "../../src/daemon/native/libc.js";
import { createLibcLoader } from "../../src/daemon/native/libc.js";
import { bindPosixSpawn } from "../../src/daemon/native/posix-spawn.js";
import { exitOfWait } from "../../src/daemon/process/exit-status.js";
import { createPipes } from "../../src/daemon/process/pipes.js";
import { createProgramStarter } from "../../src/daemon/process/program-starter.js";
import { asUser, bash, collect, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeAll(async () => {
  sandbox = await startTestDaemon();
  chmodSync(sandbox.directory, 0o755);
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const NOBODY = { headers: asUser("nobody") };
const run = (command: string, options: object = {}, call: object = {}) =>
  collect(sandbox.process.start({ process: { ...bash(command), ...options }, stdin: false }, call));

describe.each([
  ["root", {}],
  ["another user", NOBODY],
])("a process of %s", (_name, call) => {
  it("holds no descriptor of the daemon beside its standard streams", async () => {
    const list = "for fd in /proc/self/fd/*; do test -e $fd && basename $fd; done; true";
    // What Node's own way passes on came from whoever started the daemon.
    const inherited = execFileSync("/bin/bash", ["-c", list], { encoding: "utf8" });
    expect((await run(list, {}, call)).stdout.toString()).toBe(inherited);
  });

  it("can open its standard streams once more", async () => {
    const result = await run("echo one > /dev/stdout; echo two > /dev/stderr", {}, call);
    expect([result.stdout.toString(), result.stderr.toString(), result.exitCode]).toEqual(["one\n", "two\n", 0]);
  });

  it("blocks and ignores no signal", async () => {
    const result = await run("grep -E 'Sig(Blk|Ign):' /proc/self/status", {}, call);
    expect(result.stdout.toString()).toMatch(/SigBlk:\s+0{16}\nSigIgn:\s+0{16}\n/);
  });

  it("ends with its exact status", async () => {
    expect(await run("exit 200", {}, call)).toMatchObject({ exitCode: 200 });
    expect(await run("kill -SEGV $$", {}, call)).toMatchObject({ exitCode: -1, status: expect.stringContaining("signal: segmentation") });
  });
});

describe("a program that a user cannot execute", () => {
  const reject = async (cmd: string) => {
    const error = await collect(sandbox.process.start({ process: { cmd } }, NOBODY)).catch((cause: unknown) => ConnectError.from(cause));
    if (!(error instanceof ConnectError)) throw new Error("the program ran");
    return error;
  };

  it("is refused before it starts, whether by mode, by directory or by interpreter", async () => {
    const directory = join(sandbox.directory, "closed");
    mkdirSync(directory, { mode: 0o700 });
    const binary = readFileSync("/bin/true");
    writeFileSync(join(directory, "hidden"), binary, { mode: 0o755 });
    writeFileSync(join(sandbox.directory, "private"), binary, { mode: 0o700 });
    writeFileSync(join(sandbox.directory, "broken"), "#!/no/such/interpreter\n", { mode: 0o755 });
    for (const file of ["closed/hidden", "private", "broken"]) {
      expect(await reject(join(sandbox.directory, file))).toMatchObject({ code: Code.InvalidArgument });
    }
  });
});

it("a variable that loads code does not reach the program that changes the user", async () => {
  const envs = { LD_PRELOAD: "/no/such/library.so" };
  const result = await run("echo ready", { envs }, NOBODY);
  expect(result.stdout.toString()).toBe("ready\n");
  // Only bash itself complains about the library.
  expect(result.stderr.toString().match(/library\.so/g)).toHaveLength(1);
});

it("100 processes that end at once are all seen to end", async () => {
  const results = await Promise.all(Array.from({ length: 100 }, (_, index) => run(`exit ${index}`)));
  expect(results.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 100 }, (_, index) => index));
});

it("without the bridge to the C library programs start all the same", async () => {
  const missing: LibcLoader = {
    load: () => {
      throw new Error("missing");
    },
    bridge: () => {
      throw new Error("missing");
    },
  };
  const starter = createProgramStarter(missing);
  const pipes = createPipes(missing);
  const { readFd, writeFd } = pipes.openOutput();
  const input = pipes.openInput();
  const user = { name: "root", uid: 0, gid: 0, groups: [], home: "/root", shell: "/bin/sh" };
  const plan = { file: "/bin/sh", argv0: "sh", args: ["-c", "exit 7"], env: new Map(), cwd: "/", user };
  const exit = await new Promise((resolve) => void starter.start(plan, [input.readFd, writeFd, writeFd], resolve));
  expect(exit).toEqual({ kind: "exited", code: 7 });
  expect(readFd).toBeGreaterThan(2);
  starter.close();
  await pipes.close();
});

it("a spawner that is closed still waits for what runs", async () => {
  const before = process.listenerCount("SIGCHLD");
  const spawner = bindPosixSpawn(createLibcLoader().bridge());
  const pipes = createPipes(createLibcLoader());
  const { readFd, writeFd } = pipes.openInput();
  const exit = new Promise<number>((resolve) => {
    spawner.spawn({ file: "/bin/sh", argv: ["sh", "-c", "kill -9 $$"], env: [], cwd: "/", stdio: [readFd, writeFd, writeFd] }, resolve);
  });
  spawner.close();
  expect(exitOfWait(await exit)).toEqual({ kind: "signaled", signal: "SIGKILL" });
  expect(process.listenerCount("SIGCHLD")).toBe(before);
});
