import { Agent, type Editor, type Tool as FrameworkTool } from "@openai/agents-core";
import type { SandboxClient, SandboxRunConfig, SandboxSession, SnapshotSpec } from "@openai/agents-core/sandbox";
import { expect, expectTypeOf, it } from "vitest";
import { toFunctionTools } from "../../../src/agent/openai-agents/function-tools.js";
import { openLocalDir, readLocalFile } from "../../../src/agent/openai-agents/no-local-sources.js";
import { AgentSandboxClient } from "../../../src/agent/openai-agents/sandbox-client.js";
import type { AgentSandboxSession } from "../../../src/agent/openai-agents/sandbox-session.js";
import { agentSandboxSnapshot } from "../../../src/agent/openai-agents/session-snapshots.js";
import type { WorkspaceEditor } from "../../../src/agent/openai-agents/workspace-editor.js";

it("what we give is what the framework takes, with every member of a session", () => {
  expectTypeOf<AgentSandboxClient>().toExtend<SandboxClient>();
  expectTypeOf<AgentSandboxSession>().toExtend<Required<SandboxSession>>();
  expectTypeOf<{ client: AgentSandboxClient; options: { template: string } }>().toExtend<SandboxRunConfig>();
  expectTypeOf<WorkspaceEditor>().toExtend<Editor>();
  expectTypeOf(agentSandboxSnapshot()).toExtend<SnapshotSpec>();
  expectTypeOf(toFunctionTools([])).toExtend<FrameworkTool[]>();
  expect(new Agent({ name: "typed", tools: toFunctionTools([]) }).tools).toEqual([]);
  expect(new AgentSandboxClient().backendId).toBe("agent_sandbox");
});

it("a wrong option is told before anything is made", async () => {
  // @ts-expect-error there is no such way
  expect(() => new AgentSandboxClient({ workspacePersistence: "tar" })).toThrow(/"archive" or "snapshot"/);
  const client = new AgentSandboxClient({ apiUrl: "http://127.0.0.1:9", apiKey: "k", archiveLimits: { maxMembers: 0 } });
  await expect(client.create()).rejects.toThrow(/at least 1/);
});

it("outside of Node an entry of this machine is refused", async () => {
  const options = { baseDir: undefined, grantedDirs: [] };
  await expect(readLocalFile("a.txt", options)).rejects.toThrow(/local_file a.txt.*on Node only/);
  await expect(openLocalDir("a", options)).rejects.toThrow(/local_dir a.*on Node only/);
});
