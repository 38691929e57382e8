import {
  getHarnessErrorMessage,
  HarnessAgent,
  HarnessSandboxAuthenticationError,
  prepareHarnessSandboxTemplate,
} from "@ai-sdk/harness/agent";
import { afterEach, describe, expect, it } from "vitest";
import { createSandboxProvider, type SandboxProviderOptions } from "../../../src/agent/ai-sdk/sandbox-provider.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";
import { createProbe, networkSessionOf } from "./support/probe-harness.js";

const POLL = { timeout: 15_000 };

describeOnPlatform("sandboxes for harnesses", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const create = { ...connection, timeoutMs: 300_000, metadata: { suite: "ai-sdk-provider" } };
  const provide = (options: SandboxProviderOptions = {}) => createSandboxProvider({ ...options, create: { ...create, ...options.create } });
  const listed = () => Sandbox.list({ ...connection, query: { metadata: { suite: "ai-sdk-provider" } } }).toArray();
  afterEach(async () => {
    for (const { sandboxId } of await listed()) await Sandbox.kill(sandboxId, connection);
    for await (const { snapshotId, names } of Sandbox.listSnapshots(connection)) {
      if (names.some((name) => name.includes("ai-sdk-"))) await Sandbox.deleteSnapshot(snapshotId, connection);
    }
  });

  it("does nothing before a session is asked for", async () => {
    const provider = createSandboxProvider({ create: { apiUrl: "http://127.0.0.1:9", apiKey: "k", retries: 0 } });
    expect(provider).toMatchObject({ specificationVersion: "harness-sandbox-v1", providerId: "agent-sandbox" });
    await expect(provider.createSession()).rejects.toMatchObject({ reason: "connection" });
  });

  it("finds a session again from another program, running or stopped, whatever its id is made of", async () => {
    for (const sessionId of ["chat-1", "a&b=ü /🦜\n'\"", "x".repeat(1_000)]) {
      const session = await provide().createSession({ sessionId });
      await session.writeTextFile({ path: "note.txt", content: sessionId });
      const running = await provide().resumeSession({ sessionId });
      expect(running.id).toBe(session.id);
      await running.stop();
      expect(await Sandbox.getInfo(session.id, connection)).toMatchObject({ state: "paused" });
      const stopped = await provide().resumeSession({ sessionId });
      expect(stopped.id).toBe(session.id);
      expect(await stopped.readTextFile({ path: "note.txt" })).toBe(sessionId);
      await stopped.destroy();
      await expect(provide().resumeSession({ sessionId })).rejects.toMatchObject({ reason: "sandbox_not_found" });
    }
  });

  it("one session has one sandbox, also when it is asked for twice at the same time", async () => {
    const provider = provide();
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => provider.createSession({ sessionId: "twice" })));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    await expect(provide().createSession({ sessionId: "twice" })).rejects.toMatchObject({ reason: "already_exists" });
    expect(await listed()).toHaveLength(1);
    await expect(provider.resumeSession({ sessionId: "never made" })).rejects.toThrow(/no sandbox of the session "never made"/);
  });

  it("without an id, stop ends the sandbox, since nobody can come back to it", async () => {
    const session = await provide().createSession();
    expect(await listed()).toHaveLength(1);
    await session.stop();
    await session.destroy();
    await expect.poll(listed, POLL).toEqual([]);
  });

  it("a session with an id outlives its time as files, and one without does not", async () => {
    const [kept, gone] = await Promise.all([provide().createSession({ sessionId: "kept" }), provide().createSession()]);
    for (const { id } of [kept, gone]) await Sandbox.setTimeout(id, 1_000, connection);
    await expect.poll(async () => (await Sandbox.getInfo(kept.id, connection)).state, POLL).toBe("paused");
    await expect.poll(async () => (await listed()).map(({ sandboxId }) => sandboxId), POLL).not.toContain(gone.id);
  });

  it("does a set-up once for each identity, and keeps it for later programs", async () => {
    let count = 0;
    const onFirstCreate: NonNullable<Parameters<ReturnType<typeof provide>["createSession"]>[0]>["onFirstCreate"] = async (session) => {
      expect("stop" in session).toBe(false);
      count += 1;
      await session.writeTextFile({ path: "set-up.txt", content: String(count) });
    };
    const provider = provide();
    const sessions = await Promise.all([1, 2, 3].map(() => provider.createSession({ identity: "one", onFirstCreate })));
    expect(count).toBe(1);
    for (const session of sessions) expect(await session.readTextFile({ path: "set-up.txt" })).toBe("1");
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(3);
    const later = await provide().createSession({ identity: "one", onFirstCreate, sessionId: "later" });
    expect(count).toBe(1);
    expect(await later.readTextFile({ path: "set-up.txt" })).toBe("1");
    await provide().createSession({ identity: "two", onFirstCreate });
    expect(count).toBe(2);
    const bare = await provide().createSession();
    expect(await bare.readTextFile({ path: "set-up.txt" })).toBeNull();
    const alone = provide({ snapshots: false });
    await alone.createSession({ identity: "one", onFirstCreate });
    await alone.createSession({ identity: "one", onFirstCreate });
    expect(count).toBe(4);
    // Those who did the set-up are gone.
    expect(await listed()).toHaveLength(8);
  });

  it("a set-up that fails, or is given up, leaves no sandbox and no snapshot, and the next one begins anew", async () => {
    const provider = provide();
    const failed = new Error("no network");
    let count = 0;
    const asked = {
      identity: "fails",
      sessionId: "fails",
      onFirstCreate: async () => {
        count += 1;
        if (count === 1) throw failed;
      },
    };
    await expect(provider.createSession(asked)).rejects.toBe(failed);
    await expect.poll(listed, POLL).toEqual([]);
    const controller = new AbortController();
    const onFirstCreate = async () => controller.abort(failed);
    await expect(provider.createSession({ ...asked, onFirstCreate, abortSignal: controller.signal })).rejects.toBe(failed);
    await expect.poll(listed, POLL).toEqual([]);
    await expect(provider.createSession({ abortSignal: controller.signal })).rejects.toBe(failed);
    await expect(provider.resumeSession({ sessionId: "x", abortSignal: controller.signal })).rejects.toBe(failed);
    await provider.createSession(asked);
    expect(count).toBe(2);
  });

  it("a directory that is not there fails, and leaves no sandbox", async () => {
    await expect(provide({ workingDirectory: "not/there" }).createSession({ sessionId: "x" })).rejects.toThrow(/not\/there/);
    await expect.poll(listed, POLL).toEqual([]);
  });

  it("a sandbox that is given serves all sessions, and none sets it up or ends it", async () => {
    const sandbox = await Sandbox.create(create);
    const provider = createSandboxProvider({ sandbox });
    const onFirstCreate = async () => {
      throw new Error("must not be called");
    };
    const session = await provider.createSession({ identity: "one", onFirstCreate, sessionId: "a" });
    expect([session.id, (await provider.resumeSession({ sessionId: "b" })).id]).toEqual([sandbox.sandboxId, sandbox.sandboxId]);
    await session.stop();
    await session.destroy();
    expect((await sandbox.getInfo()).state).toBe("running");
  });

  it("wrong credentials are told as the harness expects it", async () => {
    const provider = provide({ create: { apiKey: `${apiKey}x` } });
    const onFirstCreate = async () => undefined;
    for (const call of [
      () => provider.createSession(),
      () => provider.createSession({ sessionId: "a" }),
      () => provider.createSession({ identity: "a", onFirstCreate }),
      () => provider.resumeSession({ sessionId: "a" }),
    ]) {
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      expect(HarnessSandboxAuthenticationError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ reason: "authentication", sandboxProviderId: "agent-sandbox", cause: expect.anything() as unknown });
      expect(getHarnessErrorMessage(error)).toContain("takes apiKey among its create options");
    }
  });

  describe("under a HarnessAgent", () => {
    it("runs turns in the directory of the session, stops, and goes on where it was", async () => {
      const probe = createProbe();
      const agent = new HarnessAgent({ harness: probe.harness, sandbox: provide() });
      const session = await agent.createSession();
      expect((await agent.generate({ session, prompt: "pwd; echo hi > kept.txt; cat ~/.probe/version" })).text).toBe(
        `/home/user/probe-${session.sessionId}\n1`,
      );
      const { id } = networkSessionOf(probe);
      const resumeFrom = await session.stop();
      expect(await Sandbox.getInfo(id, connection)).toMatchObject({ state: "paused" });
      const again = await agent.createSession({ sessionId: session.sessionId, resumeFrom });
      expect(networkSessionOf(probe).id).toBe(id);
      expect((await agent.generate({ session: again, prompt: "cat kept.txt; wc -l < ~/.probe/installed" })).text).toBe("hi\n1\n");
      await again.destroy();
      await expect.poll(listed, POLL).toEqual([]);
    });

    it("installs an adapter once, ahead of time or in the first session", async () => {
      const installedAt = async (sandbox = provide()) => {
        const agent = new HarnessAgent({ harness: createProbe("2").harness, sandbox });
        const session = await agent.createSession();
        try {
          return (await agent.generate({ session, prompt: "cat ~/.probe/installed" })).text;
        } finally {
          await session.destroy();
        }
      };
      await prepareHarnessSandboxTemplate({ harness: createProbe("2").harness, sandboxProvider: provide() });
      await expect.poll(listed, POLL).toEqual([]);
      const first = await installedAt();
      expect(first).toMatch(/^\d+\n$/);
      expect(await installedAt()).toBe(first);
      expect(await installedAt(provide({ snapshots: false }))).not.toBe(first);
    });

    it("takes a session that the program opened, with the rest of it out of reach", async () => {
      const probe = createProbe();
      const sandboxSession = await provide().createSession();
      const agent = new HarnessAgent({
        harness: probe.harness,
        sandboxConfig: {
          onSession: async ({ session }) => session.writeTextFile({ path: "given.txt", content: String("stop" in session) }),
        },
      });
      const session = await agent.createSession({ sandboxSession });
      expect((await agent.generate({ session, prompt: "cat ~/given.txt" })).text).toBe("false");
      await session.destroy();
      expect((await sandboxSession.run({ command: "true" })).exitCode).toBe(0);
    });
  });
});
