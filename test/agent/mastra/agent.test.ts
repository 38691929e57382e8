import { Agent } from "@mastra/core/agent";
import { Workspace } from "@mastra/core/workspace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentSandbox } from "../../../src/agent/mastra/agent-sandbox.js";
import { AgentSandboxFilesystem } from "../../../src/agent/mastra/agent-sandbox-filesystem.js";
import { toMastraTools } from "../../../src/agent/mastra/mastra-tools.js";
import { SandboxSession } from "../../../src/agent/sandbox-session.js";
import { createTools } from "../../../src/agent/sandbox-toolset.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";
import { createScriptedModel, type ScriptedStep } from "./support/scripted-model.js";

describeOnPlatform("an agent of Mastra", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };

  describe("with a workspace", () => {
    let sandbox: AgentSandbox;
    let workspace: Workspace;
    beforeAll(async () => {
      sandbox = new AgentSandbox({ create: { ...connection, timeoutMs: 120_000 }, workingDirectory: "/home/user/project" });
      workspace = new Workspace({ sandbox, filesystem: new AgentSandboxFilesystem({ sandbox }), tools: {} });
      await workspace.init();
    });
    afterAll(() => workspace.destroy());

    const run = async (...steps: ScriptedStep[]) => {
      const { model, answers } = createScriptedModel(steps);
      const agent = new Agent({ id: "tester", name: "tester", instructions: "Work.", model, workspace });
      const stream = await agent.stream("go", { maxSteps: steps.length + 1 });
      const said = await stream.text;
      return { said, answers: answers.map((answer) => JSON.stringify(answer)), prompt: JSON.stringify(model.doStreamCalls[0]?.prompt) };
    };

    it("writes, edits, runs and searches in the sandbox", async () => {
      const { said, answers, prompt } = await run(
        () => ({ tool: "mastra_workspace_write_file", input: { path: "src/main.py", content: "print('helo', 6 * 7)\n" } }),
        () => ({ tool: "mastra_workspace_execute_command", input: { command: "python3 src/main.py" } }),
        () => ({ tool: "mastra_workspace_edit_file", input: { path: "src/main.py", old_string: "helo", new_string: "hello" } }),
        () => ({ tool: "mastra_workspace_execute_command", input: { command: "python3 main.py; exit 3", cwd: "src" } }),
        () => ({ tool: "mastra_workspace_grep", input: { pattern: "hel+o'" } }),
        () => ({ tool: "mastra_workspace_list_files", input: { path: "." } }),
        () => ({ tool: "mastra_workspace_read_file", input: { path: "/home/user/project/src/main.py" } }),
        () => ({ tool: "mastra_workspace_file_stat", input: { path: "src/main.py" } }),
        () => ({ tool: "mastra_workspace_mkdir", input: { path: "out/deep" } }),
        () => ({ tool: "mastra_workspace_delete", input: { path: "src/main.py" } }),
        () => "done",
      );
      expect(said).toBe("done");
      expect(prompt).toContain("isolated Linux sandbox");
      expect(prompt).toContain("/home/user/project");
      expect(answers[0]).toContain("Wrote 21 bytes");
      expect(answers[1]).toContain("helo 42");
      expect(answers[2]).toContain("Replaced 1 occurrence");
      expect(answers[3]).toMatch(/hello 42.*Exit code: 3/);
      expect(answers[4]).toContain("src/main.py:1:8: print('hello', 6 * 7)");
      expect(answers[5]).toMatch(/src\\n\\tmain\.py/);
      expect(answers[6]).toContain("print('hello', 6 * 7)");
      expect(answers[7]).toMatch(/main\.py/);
      expect((await sandbox.executeCommand("find . | sort")).stdout).toBe(".\n./out\n./out/deep\n./src\n");
    });

    it("has processes in the background", async () => {
      const pidOf = (answers: readonly string[]) => /PID: (\d+)/.exec(answers[0] ?? "")?.[1] ?? "";
      const command = "echo serving; sleep 99";
      const { answers } = await run(
        () => ({ tool: "mastra_workspace_execute_command", input: { command, background: true } }),
        async (so) => {
          const process = await sandbox.processes.get(pidOf(so));
          await expect.poll(() => process?.stdout, { timeout: 15_000 }).toBe("serving\n");
          return { tool: "mastra_workspace_get_process_output", input: { pid: pidOf(so) } };
        },
        (so) => ({ tool: "mastra_workspace_kill_process", input: { pid: pidOf(so) } }),
        (so) => ({ tool: "mastra_workspace_get_process_output", input: { pid: pidOf(so) } }),
        () => "done",
      );
      expect(answers[1]).toContain("serving");
      expect(answers[2]).toMatch(/has been killed[\s\S]*serving/);
      expect(answers[3]).toContain("No background process found");
    });

    it("is told what is wrong, and sees pictures", async () => {
      await workspace.filesystem?.writeFile("dot.png", Buffer.from(PNG, "base64"));
      const { answers } = await run(
        () => ({ tool: "mastra_workspace_read_file", input: { path: "no.txt" } }),
        () => ({ tool: "mastra_workspace_execute_command", input: { command: "true", cwd: "/no/where" } }),
        () => ({ tool: "mastra_workspace_execute_command", input: { command: "echo begun; sleep 60", timeout: 1 } }),
        () => ({ tool: "mastra_workspace_read_file", input: { path: "dot.png" } }),
        () => "done",
      );
      expect(answers[0]).toContain("File not found: no.txt");
      expect(answers[1]).toContain("/no/where");
      expect(answers[2]).toMatch(/begun.*killed after 1000 ms.*Exit code: 124/);
      expect(answers[3]).toContain(PNG);
      expect(answers[3]).toContain("image/png");
    });

    it("an abort of the agent kills the command it runs", async () => {
      const controller = new AbortController();
      const { model } = createScriptedModel([
        () => ({ tool: "mastra_workspace_execute_command", input: { command: "echo begun; sleep 4321" } }),
      ]);
      const agent = new Agent({ id: "aborted", name: "aborted", instructions: "Work.", model, workspace });
      const stream = await agent.stream("go", { abortSignal: controller.signal });
      for await (const chunk of stream.fullStream) if (JSON.stringify(chunk).includes("begun\\n")) controller.abort();
      const count = async () => (await sandbox.executeCommand("pgrep -fc '[s]leep 4321'")).stdout;
      await expect.poll(count, { timeout: 15_000 }).toBe("0\n");
    });

    it("finds skills and indexed text in the files of the sandbox", async () => {
      const filesystem = new AgentSandboxFilesystem({ sandbox });
      await filesystem.writeFile("skills/greet/SKILL.md", "---\nname: greet\ndescription: How to greet people\n---\nSay hello.\n");
      await filesystem.writeFile("docs/deep/rivers.md", "The longest river is the Nile.\n");
      const searching = new Workspace({ sandbox, filesystem, skills: ["skills"], bm25: true, autoIndexPaths: ["docs"] });
      await searching.init();
      expect((await searching.skills?.list())?.map(({ name }) => name)).toEqual(["greet"]);
      expect((await searching.skills?.get("greet"))?.instructions).toContain("Say hello.");
      expect((await searching.search("longest river"))[0]).toMatchObject({ id: expect.stringContaining("rivers.md") });
    });

    it("the workspace stops and starts with its files", async () => {
      await sandbox.executeCommand("echo kept >kept");
      await workspace.stop();
      expect((await workspace.getInfo()).sandbox).toMatchObject({ provider: "agent-sandbox", status: "stopped" });
      expect(await workspace.filesystem?.readFile("kept", { encoding: "utf8" })).toBe("kept\n");
      expect((await workspace.getInfo()).sandbox).toMatchObject({ status: "running", resources: { cpuCores: expect.any(Number) } });
    });
  });

  describe("with our tools", () => {
    let session: SandboxSession;
    beforeAll(() => {
      session = new SandboxSession({ create: { ...connection, timeoutMs: 120_000 } });
    });
    afterAll(() => session.close());

    const start = (steps: readonly ScriptedStep[]) => {
      const { model, answers } = createScriptedModel(steps);
      const agent = new Agent({ id: "tester", name: "tester", instructions: "Work.", model, tools: toMastraTools(createTools(session)) });
      return { agent, answers, model };
    };

    it("has each with its schema, and gets text, pictures and failures it can recover from", async () => {
      const { agent, answers, model } = start([
        () => ({ tool: "run_code", input: { code: "print(6 * 7)" } }),
        () => ({ tool: "run_command", input: { command: `echo ${PNG} | base64 -d >dot.png; exit 3` } }),
        () => ({ tool: "read_file", input: { path: "dot.png" } }),
        () => ({ tool: "read_file", input: { path: "missing.txt" } }),
        () => ({ tool: "read_file", input: { pth: "dot.png" } }),
        () => ({ tool: "write_file", input: { path: "a.txt", content: "x", sandbox_id: null } }),
        () => "done",
      ]);
      const stream = await agent.stream("go", { maxSteps: 7 });
      expect(await stream.text).toBe("done");
      const tools = model.doStreamCalls[0]?.tools ?? [];
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["run_code", "run_command", "read_file", "search_files"]));
      expect(tools.find(({ name }) => name === "read_file")).toMatchObject({
        inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false },
      });
      expect(answers[0]).toEqual({ type: "content", value: [{ type: "text", text: "exit code: 0\nstdout:\n42" }] });
      expect(answers[1]).toMatchObject({ type: "error-text", value: expect.stringContaining("exit code: 3") });
      expect(answers[2]).toEqual({ type: "content", value: [{ type: "media", data: PNG, mediaType: "image/png" }] });
      expect(answers[3]).toMatchObject({ type: "error-text", value: expect.stringMatching(/missing\.txt.*list_files/) });
      expect(answers[4]).toMatchObject({ type: "error-text", value: expect.stringContaining('takes no "pth"; it takes path') });
      expect(answers[5]).toMatchObject({ type: "content", value: [{ text: "Wrote 1 bytes to /home/user/a.txt." }] });
    });

    it("an abort of the agent kills what a tool runs; progress is told on the way", async () => {
      const controller = new AbortController();
      const { agent } = start([() => ({ tool: "run_command", input: { command: "echo begun; sleep 4322" } })]);
      const stream = await agent.stream("go", { abortSignal: controller.signal });
      const progress: string[] = [];
      for await (const chunk of stream.fullStream) {
        const text = JSON.stringify(chunk);
        if (!text.includes("data-sandbox-progress")) continue;
        progress.push(text);
        controller.abort();
      }
      expect(progress[0]).toContain("begun");
      const count = () =>
        session.use(undefined, 0, async ({ commands }) => (await commands.run("pgrep -fc '[s]leep 4322'", { reject: false })).stdout);
      await expect.poll(count, { timeout: 15_000 }).toBe("0\n");
    });
  });
});
