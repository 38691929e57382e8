import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openUserDatabase } from "../../src/daemon/user-database.js";
import { ConnectionError } from "../../src/errors/error-classes.js";
import type { SandboxParts } from "../../src/sandbox/open-sandbox.js";
import type { PtySession } from "../../src/sandbox/pty-session.js";
import { startTestDaemon, type TestDaemon } from "../daemon/support/process-daemon.js";
import { openParts } from "../sandbox/support/daemon-sandbox.js";
import { type Fault, type FaultProxy, openFaultProxy } from "./support/fault-proxy.js";
import { checkTimedProperty } from "./support/timed-property.js";

const OUTPUT_BYTES = 200_000;
const INPUT_BYTES = 20_000;
const size = { cols: 80, rows: 24 };

let daemon: TestDaemon;
let proxy: FaultProxy;
let directory: string;
let outputFile: string;
let output: Buffer;
let input: Buffer;

/** Bytes of which every stretch is unlike every other. */
const numbered = (bytes: number): Buffer =>
  Buffer.from(Array.from({ length: bytes / 8 }, (_, index) => `${`${index}`.padStart(7, "0")}.`).join(""));

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "terminal-faults-"));
  writeFileSync(join(directory, "passwd"), `root:x:0:0:root:${directory}:/bin/bash\n`);
  writeFileSync(join(directory, "group"), "root:x:0:\n");
  // No prompt and no echo: what comes is what the test asks for.
  writeFileSync(join(directory, ".bash_profile"), `PS1=; stty raw -echo; . ${join(directory, "script")}; exit 98\n`);
  daemon = await startTestDaemon({ users: openUserDatabase(directory) });
  proxy = await openFaultProxy(daemon.port);
  output = numbered(OUTPUT_BYTES);
  input = numbered(INPUT_BYTES);
  outputFile = join(directory, "output");
  writeFileSync(outputFile, output);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const useScript = (script: string): void => writeFileSync(join(directory, "script"), script);
const openSandbox = () => openParts(proxy.url, { services: ["process.v1", "pty.v1"] });

/** A terminal whose script said that it reads: before, it is not raw, and the kernel drops what no line of it holds. */
async function openReady(sandbox: SandboxParts): Promise<PtySession> {
  let text = "";
  let onReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    onReady = resolve;
  });
  const terminal = await sandbox.pty.create({
    ...size,
    onData: (data) => {
      text += new TextDecoder().decode(data);
      if (text.includes("ready")) onReady();
    },
  });
  await ready;
  return terminal;
}

const atByte = fc.oneof(
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 0, max: INPUT_BYTES }),
  fc.integer({ min: 0, max: OUTPUT_BYTES }),
);
const faultOf = (actions: readonly Fault["action"][]): fc.Arbitrary<Fault> =>
  fc.record({ direction: fc.constantFrom("up", "down"), atByte, action: fc.constantFrom(...actions) });
const plans = (actions: readonly Fault["action"][]) =>
  fc.array(fc.array(faultOf(actions), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 6 });

describe("whatever cuts the connections of a terminal", () => {
  it("its output is exactly what it wrote, and its exit what the daemon reported", async () => {
    useScript(`cat ${outputFile}; exit 7`);
    const sandbox = await openSandbox();
    const check = async (faults: Fault[][]) => {
      proxy.plan(faults);
      const pieces: Uint8Array[] = [];
      const terminal = await sandbox.pty.create({ ...size, onData: (data) => void pieces.push(data) });
      expect(await terminal.waitForOutcome()).toMatchObject({ exitCode: 7 });
      expect(Buffer.concat(pieces).equals(output)).toBe(true);
    };
    await checkTimedProperty(plans(["end", "reset", "delay"]), check, { numRuns: 100 });
  });

  it.each([
    ["cut", ["end", "reset", "delay"]],
    ["repeated", ["duplicate", "reset", "delay"]],
  ] as const)("each byte of its input is typed once and in order, when connections are %s", async (_name, actions) => {
    const received = join(directory, "received");
    useScript(`printf ready; head -c ${INPUT_BYTES} > ${received}; exit 3`);
    const sandbox = await openSandbox();
    const check = async ([faults, step]: [Fault[][], number]) => {
      proxy.plan(faults);
      const terminal = await openReady(sandbox);
      const sent: Promise<void>[] = [];
      for (let at = 0; at < INPUT_BYTES; at += step) sent.push(terminal.sendInput(input.subarray(at, at + step)));
      const [outcome] = await Promise.all([terminal.waitForOutcome(), ...sent]);
      expect(outcome).toMatchObject({ exitCode: 3 });
      expect(readFileSync(received).equals(input)).toBe(true);
    };
    await checkTimedProperty(fc.tuple(plans(actions), fc.integer({ min: 1, max: 9_000 })), check, {
      numRuns: 100,
      // The second connection breaks before it says what it has, so the third begins with news.
      examples: [[[[{ direction: "up", atByte: 10_030, action: "reset" }], [{ direction: "up", atByte: 1_576, action: "reset" }]], 8_990]],
    });
  });
});

describe("a terminal whose connection is lost", () => {
  it("keeps what is typed and resized meanwhile, and goes on", async () => {
    useScript("printf ready; head -c 3; stty size; exit 0");
    const sandbox = await openSandbox();
    proxy.plan([]);
    let text = "";
    const terminal = await sandbox.pty.create({
      ...size,
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await expect.poll(() => text).toBe("ready");
    proxy.resetAll();
    await Promise.all([terminal.resize({ cols: 101, rows: 33 }), terminal.sendInput("abc")]);
    await terminal.wait();
    expect(text.replace(/\s+$/, "")).toBe("readyabc33 101");
  });

  it("takes back input that was given up before it was sent", async () => {
    useScript("printf ready; head -c 4; exit 0");
    const sandbox = await openSandbox();
    const stalled = [{ direction: "up", atByte: 0, action: "stall" }] as const;
    proxy.plan([]);
    let text = "";
    const terminal = await sandbox.pty.create({
      ...size,
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await expect.poll(() => text).toBe("ready");
    // Breaks the connection, and whatever is tried next finds nobody.
    proxy.plan([stalled]);
    await expect.poll(() => proxy.connectionCount).toBe(1);
    const givenUp = terminal.sendInput("no", { requestTimeoutMs: 50 });
    const kept = terminal.sendInput("yes!");
    await expect(givenUp).rejects.toMatchObject({ name: "TimeoutError", timeout: "request" });
    proxy.resetAll();
    await kept;
    await terminal.wait();
    expect(text).toBe("readyyes!");
  });

  it("fails with a typed error, and never with an exit, when the daemon no longer knows the terminal", async () => {
    useScript("printf ready; head -c 1; exit 0");
    const lost = await startTestDaemon({ users: openUserDatabase(directory) });
    await using gate = await openFaultProxy(lost.port);
    const sandbox = await openParts(gate.url, { services: ["process.v1", "pty.v1"] });
    const terminal = await openReady(sandbox);
    const typed = terminal.sendInput("x".repeat(100_000)).catch((error: unknown) => error);
    // Another daemon takes the place of the first.
    lost.daemon.server.closeAllConnections();
    await using successor = await startTestDaemon({ users: openUserDatabase(directory) });
    gate.redirect(successor.port);
    gate.resetAll();
    const failure = await terminal.wait().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ message: expect.stringContaining("how it ended is unknown") });
    expect(await typed).toBeInstanceOf(ConnectionError);
    await lost[Symbol.asyncDispose]();
  });
});
