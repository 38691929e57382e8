import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openUserDatabase } from "../../src/daemon/user-database.js";
import { SandboxError } from "../../src/errors/sandbox-error.js";
import type { SandboxParts } from "../../src/sandbox/open-sandbox.js";
import { startTestDaemon, type TestDaemon } from "../daemon/support/process-daemon.js";
import { openParts } from "../sandbox/support/daemon-sandbox.js";
import { type Fault, type FaultProxy, openFaultProxy } from "./support/fault-proxy.js";
import { checkTimedProperty } from "./support/timed-property.js";

const WHOLE_BYTES = 400_000;

let daemon: TestDaemon;
let proxy: FaultProxy;
let directory: string;
let sample: Buffer;
let sampleFile: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "faults-"));
  // A home of its own: the login scripts of the machine's root are none of this test's business.
  writeFileSync(join(directory, "passwd"), `root:x:0:0:root:${directory}:/bin/bash\n`);
  writeFileSync(join(directory, "group"), "root:x:0:\n");
  daemon = await startTestDaemon({ users: openUserDatabase(directory) });
  proxy = await openFaultProxy(daemon.port);
  sampleFile = join(directory, "sample");
  // Every stretch of it is unlike every other, so that nothing can be lost, doubled or exchanged unseen.
  sample = Buffer.from(
    Array.from({ length: WHOLE_BYTES / 8 }, (_, index) => `${index}`.padStart(7, "0"))
      .join("\n")
      .concat("\n"),
  );
  writeFileSync(sampleFile, sample);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const openSandbox = (isBinary = true): Promise<SandboxParts> => openParts(proxy.url, { isBinary, services: ["process.v1"] });

/** Heads of requests and answers, single messages, and the middle of large output. */
const atByte = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 5_000 }), fc.integer({ min: 0, max: WHOLE_BYTES }));
const faultOf = (actions: readonly Fault["action"][]): fc.Arbitrary<Fault> =>
  fc.record({ direction: fc.constantFrom("up", "down"), atByte, action: fc.constantFrom(...actions) });
const plans = (actions: readonly Fault["action"][]) =>
  fc.array(fc.array(faultOf(actions), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 6 });

/** What a call gave, or the typed error that it rejected with. */
async function outcomeOf<T>(call: Promise<T>): Promise<{ readonly value: T } | { readonly error: SandboxError }> {
  try {
    return { value: await call };
  } catch (error) {
    if (!SandboxError.isInstance(error)) throw error;
    return { error };
  }
}

describe("whatever cuts the connections of a command", () => {
  it("its transcript is exactly what it wrote and its exit what the daemon reported, or it fails with a typed error", async () => {
    let exact = 0;
    let failed = 0;
    await checkTimedProperty(
      fc.tuple(plans(["end", "reset", "delay"]), fc.integer({ min: 0, max: sample.length }), fc.boolean()),
      async ([faults, size, isBinary]) => {
        const sandbox = await openSandbox(isBinary);
        proxy.plan(faults);
        const first = Math.floor(size / 3);
        const script = `head -c ${first} ${sampleFile}; echo ${size} >&2; sleep 0.01; tail -c +${first + 1} ${sampleFile} | head -c ${size - first}; exit 7`;
        const pieces: string[] = [];
        const outcome = await outcomeOf(
          sandbox.commands.run(script, { user: "root", reject: false, onStdout: (text) => void pieces.push(text) }),
        );
        if ("error" in outcome) {
          failed += 1;
          expect(["connection", "sandbox_gone"]).toContain(outcome.error.reason);
          return;
        }
        exact += 1;
        const { stdout, stderr, exitCode, missingBytes } = outcome.value;
        expect(missingBytes).toBeUndefined();
        expect(exitCode).toBe(7);
        expect(stderr).toBe(`${size}\n`);
        expect(stdout === sample.toString("latin1", 0, size)).toBe(true);
        expect(pieces.join("") === stdout).toBe(true);
      },
      { numRuns: 60 },
    );
    // At most six connections are bad, so going on always succeeds in the end.
    expect({ failed, isProven: exact > 0 }).toEqual({ failed: 0, isProven: true });
  }, 60_000);

  it("it is started once, also when the network repeats its requests", async () => {
    let round = 0;
    await checkTimedProperty(
      plans(["end", "reset", "duplicate", "duplicate"]),
      async (faults) => {
        const sandbox = await openSandbox();
        proxy.plan(faults);
        round += 1;
        const marker = join(directory, `starts-${round}`);
        const outcome = await outcomeOf(sandbox.commands.run(`echo started >> ${marker}; echo $$`, { user: "root" }));
        const starts = readFileSync(marker, { encoding: "utf8", flag: "a+" });
        if ("value" in outcome) expect(starts).toBe("started\n");
        else expect(["", "started\n"]).toContain(starts);
      },
      { numRuns: 60 },
    );
  }, 60_000);

  it("input reaches it at most once and in order, and what was acknowledged reached it", async () => {
    let round = 0;
    await checkTimedProperty(
      fc.tuple(plans(["end", "reset", "duplicate", "delay"]), fc.integer({ min: 1, max: 12 })),
      async ([faults, count]) => {
        const clean = await openParts(daemon.baseUrl, { services: ["process.v1"] });
        const sandbox = await openSandbox();
        round += 1;
        const file = join(directory, `input-${round}`);
        const handle = await clean.commands.start(`cat > ${file}`, { user: "root", stdin: true });
        proxy.plan(faults);
        const acknowledged: number[] = [];
        for (let index = 0; index < count; index += 1) {
          const outcome = await outcomeOf(sandbox.commands.sendStdin(handle.pid, `<${index}:${"x".repeat(index * 300)}>`));
          if ("value" in outcome) acknowledged.push(index);
        }
        await handle.closeStdin();
        await handle.wait();
        const arrived = [...readFileSync(file, "utf8").matchAll(/<(\d+):(x*)>/g)];
        const indexes = arrived.map((match) => Number(match[1]));
        expect(indexes).toEqual([...new Set(indexes)].sort((a, b) => a - b));
        expect(indexes).toEqual(expect.arrayContaining(acknowledged));
        for (const match of arrived) expect(match[2]).toHaveLength(Number(match[1]) * 300);
        expect(arrived.map(([text]) => text).join("")).toBe(readFileSync(file, "utf8"));
      },
      { numRuns: 60 },
    );
  }, 60_000);

  it("a terminal shows the same bytes", async () => {
    let exact = 0;
    await checkTimedProperty(
      plans(["end", "reset"]),
      async (faults) => {
        const sandbox = await openSandbox();
        proxy.plan(faults);
        const shown: Uint8Array[] = [];
        const started = await outcomeOf(
          sandbox.pty.create({ cols: 80, rows: 24, user: "root", cwd: "/", onData: (data) => void shown.push(data) }),
        );
        if ("error" in started) return expect(started.error.reason).toBe("connection");
        const handle = started.value;
        const script = `stty -echo; PS1=; printf '[%s]' begin; head -c 50000 ${sampleFile}; printf '[%s]' end; exit 3\n`;
        const sent = await outcomeOf(sandbox.pty.sendInput(handle.pid, script));
        // Input is repeated three times; more bad connections in a row than that are told, as those of a start are.
        if ("error" in sent) {
          await sandbox.pty.kill(handle.pid).catch(() => {});
          return expect(sent.error.reason).toBe("connection");
        }
        const outcome = await outcomeOf(handle.waitForOutcome());
        if ("error" in outcome) return expect(outcome.error.reason).toBe("connection");
        expect(outcome.value).toMatchObject({ exitCode: 3 });
        const text = Buffer.concat(shown).toString("latin1").replaceAll("\r\n", "\n");
        expect(text).toContain(`[begin]${sample.toString("latin1", 0, 50_000)}[end]`);
        exact += 1;
      },
      { numRuns: 12 },
    );
    expect(exact).toBeGreaterThan(0);
  }, 60_000);
});
