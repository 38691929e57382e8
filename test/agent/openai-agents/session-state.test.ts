import { file, InMemoryRemoteSnapshotStore, Manifest, type RemoteSnapshotSpec } from "@openai/agents-core/sandbox";
import { expect, it } from "vitest";
import { AgentSandboxClient } from "../../../src/agent/openai-agents/sandbox-client.js";
import type { AgentSandboxSession } from "../../../src/agent/openai-agents/sandbox-session.js";
import { agentSandboxSnapshot } from "../../../src/agent/openai-agents/session-snapshots.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("the state of a session of the OpenAI Agents SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const options = { ...connection, timeoutMs: 120_000 };
  const manifest = () =>
    new Manifest({
      entries: {
        "kept.txt": file({ content: "kept\n" }),
        "kept.bin": file({ content: Uint8Array.of(0, 200, 255) }),
        "hidden file": file({ content: "ephemeral content\n", ephemeral: true }),
      },
      environment: { KEPT: "kept value", COMPUTED: async () => "computed value", HIDDEN: { value: "ephemeral value", ephemeral: true } },
    });
  const write = (session: AgentSandboxSession, text: string) => session.exec({ cmd: `echo ${text} > written.txt` });
  const written = async (session: AgentSandboxSession) => (await session.exec({ cmd: "cat written.txt" })).stdout;
  const throughJson = async (from: AgentSandboxClient, session: AgentSandboxSession, to = from) =>
    to.deserializeSessionState(JSON.parse(JSON.stringify(await from.serializeSessionState(session.state))));

  it("is JSON from which another client finds the sandbox, and holds no key and nothing ephemeral", async () => {
    const first = new AgentSandboxClient({ ...options, apiHeaders: { "x-token": "header-secret" }, envs: { TOKEN: "env-secret" } });
    const session = await first.create({ manifest: manifest() });
    await write(session, "before");
    await session.resolveExposedPort(80);
    const text = JSON.stringify(await first.serializeSessionState(session.state));
    for (const secret of [apiKey, "header-secret", "env-secret", "ephemeral value", "ephemeral content"])
      expect(text).not.toContain(secret);
    const second = new AgentSandboxClient(options);
    const state = await second.deserializeSessionState(JSON.parse(text));
    expect(state.environment).toEqual({ KEPT: "kept value", COMPUTED: "computed value" });
    expect(state.manifest.entries["kept.bin"]).toMatchObject({ content: Uint8Array.of(0, 200, 255) });
    expect(state.exposedPorts).toEqual(session.state.exposedPorts);
    const resumed = await second.resume(state);
    expect(resumed.state.sandboxId).toBe(session.state.sandboxId);
    expect((await resumed.exec({ cmd: "cat written.txt; echo $KEPT $COMPUTED $HIDDEN $TOKEN" })).stdout).toBe(
      "before\nkept value computed value env-secret\n",
    );
    await second.delete(state);
    await second.delete(state);
    await expect(Sandbox.getInfo(state.sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
    await expect(second.resume(state)).rejects.toMatchObject({ code: "snapshot_not_restorable" });
  });

  it("is serialised, and its sandbox is killed, with the options that were given for its run", async () => {
    const client = new AgentSandboxClient({ ...options, apiKey: "wrong" });
    await expect(client.create()).rejects.toMatchObject({ name: "AuthenticationError" });
    const session = await client.create({ options: { apiKey }, snapshot: agentSandboxSnapshot() });
    const record = await client.serializeSessionState(session.state);
    expect(JSON.stringify(record)).not.toContain(apiKey);
    await client.delete(session.state);
    const resumed = await client.resume(await client.deserializeSessionState(record), { clientOptions: { apiKey } });
    await Sandbox.deleteSnapshot((record.snapshot as { id: string }).id, connection);
    await resumed.delete();
    await expect(Sandbox.getInfo(resumed.state.sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("that is none is refused", async () => {
    const client = new AgentSandboxClient(options);
    await expect(client.deserializeSessionState({})).rejects.toThrow(/no sandboxId/);
    await expect(client.deserializeSessionState({ sandboxId: 7 })).rejects.toThrow(/no sandboxId/);
  });

  it("of a paused sandbox wakes it", async () => {
    const client = new AgentSandboxClient({ ...options, pauseOnExit: true });
    const session = await client.create();
    expect(client.canPersistOwnedSessionState(session.state)).toBe(true);
    await write(session, "paused");
    await Promise.allSettled([session.exec({ cmd: "sleep 100", yieldTimeMs: 60_000 }), session.close(), session.readFile({ path: "x" })]);
    await session.close();
    expect((await Sandbox.getInfo(session.state.sandboxId, connection)).state).toBe("paused");
    const resumed = await client.resume(await throughJson(client, session));
    expect(await written(resumed)).toBe("paused\n");
    await resumed.delete();
    await expect(Sandbox.getInfo(session.state.sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("names a snapshot of the platform, from which a session goes on after its sandbox has ended", async () => {
    const client = new AgentSandboxClient(options);
    const session = await client.create({ manifest: manifest(), snapshot: agentSandboxSnapshot({ name: "openai-agents-test" }) });
    expect(client.canPersistOwnedSessionState(session.state)).toBe(true);
    await write(session, "snapshot");
    await Sandbox.pause(session.state.sandboxId, connection);
    const state = await throughJson(client, session);
    expect(state.snapshot).toMatchObject({ type: "agent_sandbox" });
    expect((await Sandbox.getInfo(state.sandboxId, connection)).state).toBe("paused");
    await session.start();
    await write(session, "too late");
    await session.close();
    const resumed = await client.resume(state);
    expect(resumed.state.sandboxId).not.toBe(session.state.sandboxId);
    expect((await resumed.exec({ cmd: "cat written.txt kept.txt; echo $KEPT" })).stdout).toBe("snapshot\nkept\nkept value\n");
    await resumed.close();
    await Sandbox.deleteSnapshot(state.snapshot?.id ?? "", connection);
  });

  it("names an archive in a store, from which a session goes on after its sandbox has ended", async () => {
    const store = new InMemoryRemoteSnapshotStore();
    const snapshot: RemoteSnapshotSpec = { type: "remote", id: "one", store };
    const client = new AgentSandboxClient({ ...options, snapshot });
    const session = await client.create({ manifest: new Manifest({ ...manifest(), users: ["alice"] }) });
    await write(session, "stored");
    const state = await throughJson(client, session);
    expect(state.snapshot).toEqual({ type: "remote", id: "one" });
    await session.close();
    await expect(new AgentSandboxClient(options).resume({ ...state })).rejects.toThrow(/option snapshot/);
    const resumed = await client.resume(state);
    expect((await resumed.exec({ cmd: "cat written.txt; ls; id -un alice" })).stdout).toBe(
      "stored\nkept.bin\nkept.txt\nwritten.txt\nalice\n",
    );
    await resumed.close();
  });

  it("of a session that keeps nothing is not kept by a run", () => {
    const client = new AgentSandboxClient({ ...options, snapshot: { type: "noop" } });
    const state = { manifest: new Manifest(), sandboxId: "x", environment: {}, pauseOnExit: false };
    expect(client.canPersistOwnedSessionState(state)).toBe(false);
  });

  it("beside it the workspace is an archive that replaces what is there, within limits", async () => {
    const client = new AgentSandboxClient(options);
    const source = await client.create({ manifest: manifest() });
    await source.exec({ cmd: "mkdir -p 'd d'; echo x > 'd d/*'; ln -s '*' 'd d/link'; chmod 700 'd d'; echo hid > 'hidden file'" });
    const archive = await source.persistWorkspace();
    const target = await client.create();
    await target.exec({ cmd: "echo old > old.txt" });
    await target.hydrateWorkspace(archive);
    expect((await target.exec({ cmd: "ls; cat 'd d/link'; stat -c '%a %U' 'd d'" })).stdout).toBe("d d\nkept.bin\nkept.txt\nx\n700 user\n");
    await expect(target.hydrateWorkspace(archive, { archiveLimits: { maxMembers: 2 } })).rejects.toThrow(/archiveLimits.maxMembers \(2\)/);
    target.setArchiveLimits({ maxExtractedBytes: 3 });
    await expect(target.hydrateWorkspace(archive)).rejects.toMatchObject({ code: "archive_error" });
    await expect(target.hydrateWorkspace("no archive at all".repeat(100))).rejects.toMatchObject({ code: "archive_error" });
    await expect(target.hydrateWorkspace("agent-sandbox-snapshot:x")).rejects.toMatchObject({ code: "archive_error" });
    expect(() => target.setArchiveLimits({ maxMembers: 0 })).toThrow(/at least 1/);
    expect((await target.exec({ cmd: "ls | wc -l" })).stdout).toBe("3\n");
    await Promise.all([source.close(), target.close()]);
  });

  it("with snapshots the workspace is the name of one, which replaces the sandbox", async () => {
    const client = new AgentSandboxClient({ ...options, workspacePersistence: "snapshot" });
    const session = await client.create();
    await session.exec({ cmd: "echo outside > ~/outside.txt" });
    await write(session, "first");
    const archive = await session.persistWorkspace();
    expect(archive.length).toBeLessThan(200);
    await write(session, "second");
    const { sandboxId } = session.state;
    await session.hydrateWorkspace(archive);
    expect(session.state.sandboxId).not.toBe(sandboxId);
    expect((await session.exec({ cmd: "cat written.txt ~/outside.txt" })).stdout).toBe("first\noutside\n");
    await expect(Sandbox.getInfo(sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
    await session.close();
  });
});
