import { InvalidArgumentError } from "../errors/error-classes.js";
import { untilAborted } from "../shared/until-aborted.js";
import { describeFailure } from "./describe-failure.js";
import { type InputOf, type Parameters, readInput, toInputSchema } from "./tool-input.js";

/** Something that a model can call. */
export interface Tool {
  readonly name: string;
  /** For the model: what it does and when to use it. */
  readonly description: string;
  /** JSON Schema of the input: an object. */
  readonly inputSchema: InputSchema;
  /** It calls `onProgress`, since what it runs may take long. */
  readonly reportsProgress?: true;
  /**
   * Do it. `input` comes from a model, so it is checked here. A failure is a result with `isError` and a text from which a model can
   * recover; only an abort rejects, with its reason.
   */
  execute(input: unknown, options?: ToolCallOptions): Promise<ToolResult>;
}

/** JSON Schema of an object, in the part of the language that every provider of models takes. */
export interface InputSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** How a tool is called. */
export interface ToolCallOptions {
  /** Ends the call, and what it runs in the sandbox. */
  readonly signal?: AbortSignal | undefined;
  /** Called with what happens on the way, such as a line of output. */
  readonly onProgress?: ((message: string) => void) | undefined;
}

/** What a model gets back. */
export interface ToolResult {
  readonly content: readonly ToolContent[];
  /** The tool failed, or what it ran did. */
  readonly isError: boolean;
}

/** A part of a result. */
export type ToolContent =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** What a tool is made of. */
export interface ToolDefinition<P extends Parameters> {
  readonly name: string;
  readonly description: string;
  readonly parameters: P;
  readonly reportsProgress?: true;
  readonly run: (input: InputOf<P>, options: ToolCallOptions) => Promise<ToolResult | string>;
}

/** Make a tool; a text that `run` gives is a result that is no error. */
export function defineTool<P extends Parameters>({ name, description, parameters, reportsProgress, run }: ToolDefinition<P>): Tool {
  return {
    name,
    description,
    inputSchema: toInputSchema(parameters),
    ...(reportsProgress && { reportsProgress }),
    async execute(input, options = {}) {
      options.signal?.throwIfAborted();
      try {
        const result = await untilAborted(run(readInput(name, parameters, input), options), options.signal);
        return typeof result === "string" ? textResult(result) : result;
      } catch (error) {
        if (options.signal?.aborted) throw options.signal.reason;
        return textResult(describeFailure(name, error), true);
      }
    },
  };
}

export function textResult(text: string, isError = false): ToolResult {
  return { content: [{ type: "text", text }], isError };
}

/** The tool of this name. @throws {@link InvalidArgumentError} naming those there are. */
export function findTool(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`there is no tool ${JSON.stringify(name)}; there are ${tools.map((tool) => tool.name).join(", ")}`);
}
