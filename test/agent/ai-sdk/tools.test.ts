import {
  convertToModelMessages,
  generateText,
  isStepCount,
  readUIMessageStream,
  streamText,
  ToolLoopAgent,
  tool,
  type UIMessage,
} from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { type AiSdkTool, toAiSdkTools } from "../../../src/agent/ai-sdk/ai-sdk-tools.js";
import { openSandboxSession } from "../../../src/agent/ai-sdk/open-sandbox-session.js";
import { SandboxSession } from "../../../src/agent/sandbox-session.js";
import { createTools } from "../../../src/agent/sandbox-toolset.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";
import { scriptedModel, toolResultsIn } from "./support/scripted-model.js";

const POLL = { timeout: 15_000 };
const stopWhen = isStepCount(10);

describeOnPlatform("tools for the AI SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  let sandbox: Sandbox;
  let session: SandboxSession;
  let tools: Record<string, AiSdkTool>;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ ...connection, timeoutMs: 300_000 });
    session = new SandboxSession({ sandbox });
    tools = toAiSdkTools(createTools(session, { maxTextLength: 2_000 }));
  });
  afterAll(() => sandbox.kill());

  it("generateText runs them and the model reads texts, images and errors", async () => {
    const model = scriptedModel([
      [["write_file", { path: "hello.py", content: "print('hällo 🦜')" }]],
      [
        ["run_command", { command: "python3 hello.py" }],
        ["run_command", { command: `echo ${PNG} | base64 -d > dot.png; exit 3` }],
      ],
      [["read_file", { path: "dot.png" }]],
      [["read_file", { path: "missing.txt" }]],
      [["read_file", { nonsense: true }]],
      "all done",
    ]);
    const { text, steps } = await generateText({ model, tools, stopWhen, prompt: "go" });
    expect(text).toBe("all done");
    expect(toolResultsIn(model.doGenerateCalls.at(-1)?.prompt)).toEqual([
      { type: "text", value: "Wrote 20 bytes to /home/user/hello.py." },
      { type: "text", value: "exit code: 0\nstdout:\nhällo 🦜" },
      { type: "error-text", value: "exit code: 3\nIt printed nothing." },
      { type: "content", value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: PNG } }] },
      { type: "error-text", value: expect.stringMatching(/missing\.txt.*list_files/) as string },
      { type: "error-text", value: expect.stringMatching(/takes no "nonsense"; it takes path/) as string },
    ]);
    expect(steps.flatMap((step) => step.content.filter((part) => part.type === "tool-error"))).toEqual([]);
  });

  it("the model is given names, descriptions and schemas", async () => {
    const model = scriptedModel(["nothing to do"]);
    await generateText({ model, tools, prompt: "go" });
    const given = model.doGenerateCalls[0]?.tools ?? [];
    expect(given.map(({ name }) => name)).toEqual(createTools(session).map(({ name }) => name));
    expect(given.find(({ name }) => name === "run_command")).toMatchObject({
      type: "function",
      description: expect.stringContaining("bash") as string,
      inputSchema: { type: "object", required: ["command"], additionalProperties: false },
    });
  });

  it("a call that is no JSON, and one of a tool that there is not, are for the model to read too", async () => {
    const model = scriptedModel([[["run_command", "{not json"]], [["no_such_tool", {}]], "sorry"]);
    const { text } = await generateText({ model, tools, stopWhen, prompt: "go" });
    expect(text).toBe("sorry");
    expect(toolResultsIn(model.doGenerateCalls.at(-1)?.prompt).map(({ type }) => type)).toEqual(["error-text", "error-text"]);
  });

  it("streamText gives the newest line of output while a command runs, then its result", async () => {
    const command = "echo first; until [ -e go-on ]; do sleep 0.05; done; echo last";
    const result = streamText({ model: scriptedModel([[["run_command", { command }]], "done"]), tools, stopWhen, prompt: "go" });
    const outputs: { isPreliminary: boolean; output: unknown }[] = [];
    for await (const part of result.stream) {
      if (part.type !== "tool-result") continue;
      outputs.push({ isPreliminary: part.preliminary === true, output: part.output });
      if (outputs.length === 1) await sandbox.files.write("go-on", "");
    }
    expect(outputs[0]).toEqual({ isPreliminary: true, output: { content: [{ type: "text", text: "first" }], isError: false } });
    const whole = { content: [{ type: "text", text: "exit code: 0\nstdout:\nfirst\nlast" }], isError: false };
    expect(outputs.at(-1)).toEqual({ isPreliminary: false, output: whole });
    expect(outputs.filter(({ isPreliminary }) => !isPreliminary)).toHaveLength(1);
  });

  it("a command that prints without end makes few preliminary results, and a file makes none", async () => {
    const calls = [["run_command", { command: "for n in $(seq 1 20000); do echo line $n; done" }]] as const;
    const result = streamText({ model: scriptedModel([calls, [["list_files", {}]], "done"]), tools, stopWhen, prompt: "go" });
    const counts: Record<string, number> = {};
    for await (const part of result.stream) {
      if (part.type === "tool-result" && part.preliminary === true) counts[part.toolName] = (counts[part.toolName] ?? 0) + 1;
    }
    // The framework repeats the result itself as one.
    expect(counts.run_command).toBeLessThan(30);
    expect(counts.list_files).toBeUndefined();
  });

  it("an abort ends the command and the call", async () => {
    const controller = new AbortController();
    const model = scriptedModel([[["run_command", { command: "touch agent-started; sleep 4721" }]], "never"]);
    const running = generateText({ model, tools, stopWhen, prompt: "go", abortSignal: controller.signal });
    await expect.poll(() => sandbox.files.exists("agent-started"), POLL).toBe(true);
    controller.abort(new Error("enough"));
    await expect(running).rejects.toThrow();
    await expect.poll(async () => (await sandbox.commands.run("pgrep -f '[s]leep 4721'", { reject: false })).exitCode, POLL).toBe(1);
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  it("a time limit of the framework for one tool ends the command, and the model goes on", async () => {
    const model = scriptedModel([[["run_command", { command: "sleep 4722" }]], "it took too long"]);
    const { text } = await generateText({ model, tools, stopWhen, prompt: "go", timeout: { toolMs: 1_000 } });
    expect(text).toBe("it took too long");
    expect(toolResultsIn(model.doGenerateCalls.at(-1)?.prompt)).toMatchObject([{ type: "error-text" }]);
    await expect.poll(async () => (await sandbox.commands.run("pgrep -f '[s]leep 4722'", { reject: false })).exitCode, POLL).toBe(1);
  });

  it("who stops reading the outputs of a call ends it", async () => {
    const options = { toolCallId: "1", messages: [], context: {} };
    const outputs = tools.run_command?.execute?.({ command: "echo up; sleep 4723" }, options) as AsyncIterable<unknown>;
    for await (const output of outputs) {
      expect(output).toMatchObject({ content: [{ text: "up" }] });
      break;
    }
    await expect.poll(async () => (await sandbox.commands.run("pgrep -f '[s]leep 4723'", { reject: false })).exitCode, POLL).toBe(1);
  });

  it("results survive the way through a user interface, and what comes back changed does no harm", async () => {
    const model = scriptedModel([[["read_file", { path: "dot.png" }]], "seen"]);
    const result = streamText({ model, tools, stopWhen, prompt: "go" });
    let message: UIMessage | undefined;
    for await (const update of readUIMessageStream({ stream: result.toUIMessageStream() })) message = update;
    const stored = JSON.parse(JSON.stringify([message])) as UIMessage[];
    const image = { type: "content", value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: PNG } }] };
    expect(toolResultsIn((await convertToModelMessages(stored, { tools })) as never)).toEqual([image]);
    for (const output of [null, "text", { content: "x", isError: false }, { content: [{ type: "video" }], isError: true }, []]) {
      for (const part of stored[0]?.parts ?? []) if (part.type === "dynamic-tool") Object.assign(part, { output });
      expect(toolResultsIn((await convertToModelMessages(stored, { tools })) as never)).toEqual([{ type: "json", value: output }]);
    }
  });

  it("an agent has a sandbox of its own for as long as its session lasts", async () => {
    await using own = new SandboxSession({ create: { ...connection, timeoutMs: 120_000 } });
    const agent = new ToolLoopAgent({
      model: scriptedModel([[["run_code", { code: "open('kept','w').write('x')" }]], [["kill_sandbox", {}]], [["list_files", {}]], "bye"]),
      tools: toAiSdkTools(createTools(own)),
    });
    const { text, steps } = await agent.generate({ prompt: "go" });
    expect(text).toBe("bye");
    const results = steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
    expect(results).toMatchObject([{ isError: false }, { isError: false }, { isError: false }]);
    expect(JSON.stringify(results[2])).not.toContain("kept");
    expect(own.sandboxIds).toHaveLength(1);
  });

  it("tools of the program reach the session that generateText was given", async () => {
    const experimental_sandbox = await openSandboxSession(sandbox);
    const count = tool({
      description: ({ experimental_sandbox: place }) => `Counts words. ${place?.description}`,
      inputSchema: z.object({ text: z.string() }),
      execute: async ({ text }, { experimental_sandbox: place, abortSignal }) => {
        await place?.writeTextFile({ path: "words.txt", content: text, ...(abortSignal && { abortSignal }) });
        return (await place?.run({ command: "wc -w < words.txt" }))?.stdout.trim();
      },
    });
    const model = scriptedModel([[["count", { text: "one two three" }]], "three"]);
    await generateText({ model, tools: { count }, stopWhen, experimental_sandbox, prompt: "go" });
    expect(toolResultsIn(model.doGenerateCalls.at(-1)?.prompt)).toEqual([{ type: "text", value: "3" }]);
    expect(model.doGenerateCalls[0]?.tools?.[0]).toMatchObject({ description: expect.stringContaining("/home/user") as string });
  });
});
