import { Agent, Runner, RunState } from "@openai/agents-core";
import { filesystem, SandboxAgent, shell } from "@openai/agents-core/sandbox";
import { assistantMessage, functionCall, modelResponder, type RecordedModelCall, ScriptedModel } from "@openai/agents-core/testing";
import { afterAll, expect, it } from "vitest";
import { toFunctionTools } from "../../../src/agent/openai-agents/function-tools.js";
import { AgentSandboxClient } from "../../../src/agent/openai-agents/sandbox-client.js";
import type { AgentSandboxSession } from "../../../src/agent/openai-agents/sandbox-session.js";
import { SandboxSession } from "../../../src/agent/sandbox-session.js";
import { createTools } from "../../../src/agent/sandbox-toolset.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";

let calls = 0;
const call = (name: string, args: Record<string, unknown>) => functionCall(name, args, { callId: `call-${++calls}` });
const patch = (operation: Record<string, unknown>) =>
  ({ type: "apply_patch_call", callId: `call-${++calls}`, status: "completed", operation }) as never;
/** Outputs of tools that the model has got by now, one text each. */
const outputsOf = ({ request }: RecordedModelCall): string[] =>
  (Array.isArray(request.input) ? request.input : []).flatMap((item) => ("output" in item ? [JSON.stringify(item.output)] : []));

/** Commands that a person has to approve. */
const guarded = () =>
  shell({ configureTools: (tools) => tools.map((tool) => ({ ...tool, needsApproval: async () => true }) as typeof tool) });

/** A client, and the session that it made last. */
function spyOn(client: AgentSandboxClient): { readonly client: AgentSandboxClient; readonly session: () => AgentSandboxSession } {
  let made: AgentSandboxSession | undefined;
  const create = client.create.bind(client);
  client.create = async (...args) => {
    made = await create(...args);
    return made;
  };
  return {
    client,
    session: () => {
      if (made === undefined) throw new Error("the client made no session");
      return made;
    },
  };
}

describeOnPlatform("agents of the OpenAI Agents SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const runner = new Runner({ tracingDisabled: true });
  const client = new AgentSandboxClient({ ...connection, timeoutMs: 120_000 });

  it("run commands, patch files and look at images through the runner, and leave no sandbox", async () => {
    const model = new ScriptedModel([
      [call("exec_command", { cmd: "pwd; cat notes/todo.txt; echo $GREETING" })],
      [patch({ type: "create_file", path: "src/a.py", diff: "+print(1)\n+print(2)\n" })],
      [patch({ type: "update_file", path: "src/a.py", diff: "@@\n print(1)\n-print(2)\n+print('two')\n" })],
      [call("exec_command", { cmd: `python3 src/a.py && echo ${PNG} | base64 -d > p.png` })],
      [call("view_image", { path: "p.png" })],
      [call("view_image", { path: "missing.png" })],
      [patch({ type: "delete_file", path: "src/none.py" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))]),
    ]);
    const agent = new SandboxAgent({
      name: "Coder",
      model,
      capabilities: [shell(), filesystem()],
      defaultManifest: {
        entries: { notes: { type: "dir", children: { "todo.txt": { type: "file", content: "first: test\n" } } } },
        environment: { GREETING: "hello from the manifest" },
      },
    });
    const spied = spyOn(new AgentSandboxClient({ ...connection, timeoutMs: 120_000 }));
    const result = await runner.run(agent, "go", { sandbox: { client: spied.client } });
    // A patch that succeeds says nothing.
    const [looked, ran, seen, unseen, unpatched] = String(result.finalOutput).split("\n---\n");
    expect(looked).toContain("Process exited with code 0");
    expect(looked).toContain("Output:\\n/workspace\\nfirst: test\\nhello from the manifest\\n");
    expect(ran).toContain("Output:\\n1\\ntwo\\n");
    expect(seen).toContain(`data:image/png;base64,${PNG}`);
    expect(unseen).toContain("image path `missing.png` was not found");
    expect(unpatched).toContain("File not found: src/none.py");
    model.assertComplete();
    await expect(Sandbox.getInfo(spied.session().state.sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("type into a program that runs in a terminal", async () => {
    const model = new ScriptedModel([
      [call("exec_command", { cmd: "test -t 0 && read line && echo got $line", tty: true, yield_time_ms: 0 })],
      [call("write_stdin", { session_id: 1, chars: "grüße\n", yield_time_ms: 60_000 })],
      [call("write_stdin", { session_id: 1, chars: "more\n" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))]),
    ]);
    const agent = new SandboxAgent({ name: "Typist", model, capabilities: [shell()] });
    const result = await runner.run(agent, "go", { sandbox: { client } });
    const [first, second, third] = String(result.finalOutput).split("\n---\n");
    expect(first).toContain("Process running with session ID 1");
    expect(second).toMatch(/exited with code 0[\s\S]*got grüße/);
    expect(third).toContain("session not found: 1");
  });

  it("a run that waits for an approval goes on in another process, in the same sandbox", async () => {
    const agentWith = (model: ScriptedModel) => new SandboxAgent({ name: "Careful", model, capabilities: [guarded()] });
    const before = spyOn(new AgentSandboxClient({ ...connection, timeoutMs: 120_000 }));
    const asking = agentWith(new ScriptedModel([[call("exec_command", { cmd: "cat kept.txt" })]]));
    const first = await runner.run(asking, "go", { sandbox: { client: before.client } });
    expect(first.interruptions).toHaveLength(1);
    const { sandboxId } = before.session().state;
    await before.session().execCommand({ cmd: "echo kept > kept.txt" });
    const text = first.state.toString();
    expect(text).toContain(sandboxId);
    expect(text).not.toContain(apiKey);

    const model = new ScriptedModel([modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))])]);
    const agent = agentWith(model);
    const state = await RunState.fromString(agent, text);
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    const after = await runner.run(agent, state, { sandbox: { client: new AgentSandboxClient({ ...connection, timeoutMs: 120_000 }) } });
    expect(String(after.finalOutput)).toContain("Output:\\nkept\\n");
    await expect(Sandbox.getInfo(sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("a run that waits for an approval goes on in this process, also where its sandbox was paused meanwhile", async () => {
    const spied = spyOn(new AgentSandboxClient({ ...connection, timeoutMs: 120_000 }));
    const model = new ScriptedModel([
      [call("exec_command", { cmd: "cat kept.txt" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))]),
    ]);
    const agent = new SandboxAgent({ name: "Patient", model, capabilities: [guarded()] });
    const { state } = await runner.run(agent, "go", { sandbox: { client: spied.client } });
    await spied.session().execCommand({ cmd: "echo kept > kept.txt" });
    const { sandboxId } = spied.session().state;
    await Sandbox.pause(sandboxId, connection);
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    const result = await runner.run(agent, state, { sandbox: { client: spied.client } });
    expect(String(result.finalOutput)).toContain("Output:\\nkept\\n");
    await expect(Sandbox.getInfo(sandboxId, connection)).rejects.toMatchObject({ name: "SandboxNotFoundError" });
  });

  it("agents that share a run share nothing but what they are given, and a session of yours is not ended", async () => {
    const session = await client.create({
      manifest: { users: ["alice"], entries: { shared: { type: "dir", permissions: "drwxrwxrwx" } } },
    });
    const model = new ScriptedModel([
      [call("exec_command", { cmd: "id -un; ls; pwd", workdir: "deep" })],
      [patch({ type: "create_file", path: "by-alice.txt", diff: "+mine\n" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))]),
    ]);
    const agent = new SandboxAgent({
      name: "Alice",
      model,
      runAs: "alice",
      defaultManifest: { ...session.state.manifest, entries: { ...session.state.manifest.entries, "shared/deep": { type: "dir" } } },
    });
    const result = await runner.run(agent, "go", { sandbox: { session, cwd: "shared" } });
    expect(String(result.finalOutput)).toContain("alice\\n/workspace/shared/deep\\n");
    expect((await session.exec({ cmd: "stat -c %U shared/by-alice.txt shared/deep" })).stdout).toBe("alice\nalice\n");
    await session.close();
  });

  it("a further run goes on in the sandbox that the first one paused", async () => {
    const pausing = spyOn(new AgentSandboxClient({ ...connection, timeoutMs: 120_000, pauseOnExit: true }));
    const first = new ScriptedModel([[call("exec_command", { cmd: "echo one > log.txt" })], [assistantMessage("done")]]);
    await runner.run(new SandboxAgent({ name: "Writer", model: first, capabilities: [shell()] }), "go", {
      sandbox: { client: pausing.client },
    });
    const record = JSON.stringify(await pausing.client.serializeSessionState(pausing.session().state));
    const { sandboxId } = pausing.session().state;
    expect((await Sandbox.getInfo(sandboxId, connection)).state).toBe("paused");

    const second = new ScriptedModel([
      [call("exec_command", { cmd: "cat log.txt" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join())]),
    ]);
    const client = new AgentSandboxClient({ ...connection, timeoutMs: 120_000 });
    const sessionState = await client.deserializeSessionState(JSON.parse(record));
    const result = await runner.run(new SandboxAgent({ name: "Reader", model: second, capabilities: [shell()] }), "go", {
      sandbox: { client, sessionState },
    });
    expect(String(result.finalOutput)).toContain("Output:\\none\\n");
    await Sandbox.kill(sandboxId, connection);
  });

  const session = new SandboxSession({ create: { ...connection, timeoutMs: 120_000 } });
  afterAll(() => session.close());

  it("use our tools as function tools, with images, and recover from what they got wrong", async () => {
    const model = new ScriptedModel([
      [call("run_command", { command: `echo ${PNG} | base64 -d > p.png; echo made` })],
      [call("read_file", { path: "p.png" })],
      [call("read_file", { path: "none.txt" })],
      [call("read_file", { wrong: 1 })],
      [functionCall("read_file", "{no json", { callId: "broken" })],
      modelResponder((recorded) => [assistantMessage(outputsOf(recorded).join("\n---\n"))]),
    ]);
    const agent = new Agent({ name: "Tooled", model, tools: toFunctionTools(createTools(session)) });
    const result = await runner.run(agent, "go");
    const [made, image, missing, wrong, broken] = String(result.finalOutput).split("\n---\n");
    expect(made).toContain("made");
    expect(image).toContain(`data:image/png;base64,${PNG}`);
    expect(missing).toContain("list_files");
    expect(wrong).toContain("takes no");
    expect(broken).toMatch(/error|invalid/i);
    const [offered] = model.firstCall?.request.tools ?? [];
    expect(offered).toMatchObject({ type: "function", strict: false, parameters: { type: "object", additionalProperties: false } });
  });
});
