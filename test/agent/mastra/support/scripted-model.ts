import { MastraLanguageModelV2Mock, simulateReadableStream } from "@mastra/core/test-utils/llm-mock";

/** A call of a tool by its name. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input: unknown;
}

/** What the model makes of the answers so far. */
export type ScriptedStep = (answers: readonly string[]) => ScriptedCall | string | Promise<ScriptedCall>;

/** A model that calls a tool at each step, or says its last words. `answers` holds what it got for its calls, as JSON. */
export function createScriptedModel(steps: readonly ScriptedStep[]) {
  const answers: unknown[] = [];
  const model = new MastraLanguageModelV2Mock({
    doStream: async ({ prompt }) => {
      const results = prompt
        .flatMap((message) => (message.role === "tool" ? message.content : []))
        .filter((part) => part.type === "tool-result");
      answers.splice(0, answers.length, ...results.map(({ output }) => output));
      const step = (await steps[results.length]?.(answers.map((answer) => JSON.stringify(answer)))) ?? "nothing more";
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      const said =
        typeof step === "string"
          ? ([
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: step },
              { type: "text-end", id: "t" },
              { type: "finish", finishReason: "stop", usage },
            ] as const)
          : ([
              { type: "tool-call", toolCallId: `call-${results.length}`, toolName: step.tool, input: JSON.stringify(step.input) },
              { type: "finish", finishReason: "tool-calls", usage },
            ] as const);
      return { stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] } as const, ...said] }) };
    },
  });
  return { model, answers };
}
