import {
  resolveSandboxDefaultWorkingDirectory,
  resolveSandboxHomeDir,
  waitForBridgeReady,
  writeInstructions,
  writeSkills,
} from "@ai-sdk/harness/utils";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openNetworkSandboxSession } from "../../../src/agent/ai-sdk/network-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("what harnesses do with a session", ({ apiUrl, sandboxUrl, apiKey }) => {
  let sandbox: Sandbox;
  let session: Awaited<ReturnType<typeof openNetworkSandboxSession>>;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 300_000 });
    session = await openNetworkSandboxSession(sandbox, { bufferBytes: 100_000, stallMs: 300 });
  });
  afterAll(() => sandbox.kill());

  it("they find its directories", async () => {
    expect(await resolveSandboxHomeDir({ sandbox: session })).toBe("/home/user");
    expect(await resolveSandboxDefaultWorkingDirectory({ sandboxSession: session })).toBe("/home/user");
    expect(await resolveSandboxDefaultWorkingDirectory({ sandboxSession: session.restricted() })).toBe("/home/user");
  });

  it("they write skills and instructions, change them and take them away", async () => {
    const place = { sandbox: session.restricted(), homePath: "/home/user" };
    const skill = {
      name: "primes",
      description: "Finds primes.",
      content: "Use the sieve.",
      files: [{ path: "sieve/notes.md", content: "ü 🦜" }],
    };
    const skills = (list: (typeof skill)[]) => writeSkills({ ...place, skillsDir: ".agent/skills", skills: list });
    expect(await skills([skill])).toMatchObject({ changed: true, written: ["primes"] });
    expect(await skills([skill])).toMatchObject({ changed: false, unchanged: ["primes"] });
    expect(await session.readTextFile({ path: ".agent/skills/primes/sieve/notes.md" })).toBe("ü 🦜");
    expect(await skills([])).toMatchObject({ removed: ["primes"] });
    expect(await session.stat({ path: ".agent/skills/primes" })).toBeNull();

    const instruct = (instructions?: string) =>
      writeInstructions({ ...place, instructionsFile: "AGENT.md", ...(instructions !== undefined && { instructions }) });
    await session.writeTextFile({ path: "AGENT.md", content: "Of the user.\n" });
    expect((await instruct("Be brief.")).changed).toBe(true);
    expect(await session.readTextFile({ path: "AGENT.md" })).toBe("Of the user.\n\nBe brief.\n");
    await instruct();
    expect(await session.readTextFile({ path: "AGENT.md" })).toBe("Of the user.\n");
  });

  it("they start a bridge and read its output no further, and it goes on", async () => {
    const program =
      'echo starting; echo \'{"type":"bridge-ready","port":4000}\'; head -c 20M /dev/zero; head -c 20M /dev/zero >&2; touch went-on';
    const proc = await session.spawn({ command: program });
    const ready = await waitForBridgeReady({ proc, sandbox: session, bridgeStateDir: ".bridge", bridgeType: "probe", timeoutMs: 60_000 });
    expect(ready).toMatchObject({ port: 4000, source: "stdout" });
    expect(await proc.wait()).toEqual({ exitCode: 0 });
    expect(await session.stat({ path: "went-on" })).not.toBeNull();
  });

  it("they learn that a bridge ended before it was ready", async () => {
    const proc = await session.spawn({ command: "echo broken; exit 9" });
    const ready = waitForBridgeReady({ proc, sandbox: session, bridgeStateDir: ".bridge", bridgeType: "probe", timeoutMs: 60_000 });
    await expect(ready).rejects.toThrow(/exited before becoming ready/);
    expect(await proc.wait()).toEqual({ exitCode: 9 });
  });
});
