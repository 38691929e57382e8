import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Model = MockLanguageModelV4;
type Prompt = Parameters<Model["doGenerate"]>[0]["prompt"];
type Generated = Awaited<ReturnType<Model["doGenerate"]>>;
type StreamPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer T> ? T : never;

/** What the model says in one step: calls of tools, or its last words. */
export type Step = readonly (readonly [toolName: string, input: unknown])[] | string;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** A model that goes through its steps, whatever it is told. */
export function scriptedModel(steps: readonly Step[]): Model {
  let count = 0;
  const next = () => toContent(steps[count++] ?? "done");
  return new MockLanguageModelV4({
    doGenerate: async () => ({ ...next(), usage: USAGE, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = next();
      const chunks: StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...content.flatMap(toStreamParts),
        { type: "finish", finishReason, usage: USAGE },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

/** What a model was told of the results of its tools, in its last call. */
export function toolResultsIn(prompt: Prompt | undefined) {
  return (prompt ?? []).flatMap((message) =>
    message.role === "tool" ? message.content.flatMap((part) => (part.type === "tool-result" ? [part.output] : [])) : [],
  );
}

function toContent(step: Step): Pick<Generated, "content" | "finishReason"> {
  if (typeof step === "string") return { content: [{ type: "text", text: step }], finishReason: { unified: "stop", raw: undefined } };
  const content = step.map(([toolName, input]) => ({
    type: "tool-call" as const,
    toolCallId: crypto.randomUUID(),
    toolName,
    input: typeof input === "string" ? input : JSON.stringify(input),
  }));
  return { content, finishReason: { unified: "tool-calls", raw: undefined } };
}

function toStreamParts(part: Generated["content"][number]): StreamPart[] {
  if (part.type === "tool-call") return [part];
  if (part.type !== "text") return [];
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: part.text },
    { type: "text-end", id: "1" },
  ];
}
