import type { components } from "../../gen/openapi/code-interpreter.js";
import { ConnectionError, ProtocolError, TemplateError, TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { startLongTimer } from "../shared/long-timer.js";
import type { RequestOptions } from "../transport/config.js";
import type { DaemonAnswer, DaemonHttp, DaemonRequest } from "../transport/daemon-http.js";
import type { Chart, CodeContext, CodeEvent, ResultForms } from "./code-types.js";
import { readJsonLines } from "./ndjson.js";

type Schemas = components["schemas"];
type OutputLine = Schemas["OutputLine"];

/** Code and where it runs. */
export interface ExecutionSpec {
  readonly code: string;
  readonly contextId?: string | undefined;
  readonly language?: string | undefined;
  readonly envs?: Readonly<Record<string, string>> | undefined;
}

/** What ends an execution. */
export interface ExecutionLimits extends RequestOptions {
  /** Milliseconds from the begin of the execution; 0 is no limit. */
  readonly timeoutMs: number;
}

/** The code interpreter of one sandbox in domain terms. */
export interface CodeClient {
  /** Run code; leaving the iteration interrupts it. */
  execute(spec: ExecutionSpec, limits: ExecutionLimits): AsyncGenerator<CodeEvent, void, undefined>;
  createContext(
    spec: { readonly language?: string | undefined; readonly cwd?: string | undefined },
    options: RequestOptions,
  ): Promise<CodeContext>;
  listContexts(options: RequestOptions): Promise<readonly CodeContext[]>;
  restartContext(id: string, options: RequestOptions): Promise<void>;
  removeContext(id: string, options: RequestOptions): Promise<void>;
}

export function createCodeClient(http: DaemonHttp, sandboxId: string): CodeClient {
  const send = async (request: Omit<DaemonRequest, "headers">): Promise<DaemonAnswer> => {
    try {
      return await http.send({ ...request, headers: { "content-type": "application/json" } });
    } catch (error) {
      throw isPortClosed(error) ? toNoKernelsError(request.operation, sandboxId, error) : error;
    }
  };
  const call = async (request: Omit<DaemonRequest, "headers">): Promise<unknown> => {
    const answer = await send(request);
    try {
      const text = new TextDecoder().decode(await answer.response.bytes());
      return text === "" ? undefined : (JSON.parse(text) as unknown);
    } catch (error) {
      if (error instanceof SyntaxError) throw new ProtocolError(`${request.operation}: the answer is no JSON`, { sandboxId, cause: error });
      throw await answer.explain(error);
    } finally {
      answer.deadline[Symbol.dispose]();
    }
  };
  const onContext = (id: string) => `/contexts/${encodeURIComponent(id)}`;
  return {
    execute: (spec, limits) => execute(send, spec, limits, sandboxId),
    async createContext(spec, options) {
      const operation = "code.createContext";
      return toContext(await call({ ...options, operation, method: "POST", target: "/contexts", body: JSON.stringify(spec) }), operation);
    },
    async listContexts(options) {
      const operation = "code.listContexts";
      const listed = await call({ ...options, operation, method: "GET", target: "/contexts" });
      if (!Array.isArray(listed)) throw new ProtocolError(`${operation}: the answer is no list`, { operation, sandboxId });
      return listed.map((item) => toContext(item, operation));
    },
    async restartContext(id, options) {
      await call({
        ...options,
        operation: "code.restartContext",
        method: "POST",
        target: `${onContext(id)}/restart`,
        notFound: "not_found",
      });
    },
    async removeContext(id, options) {
      await call({ ...options, operation: "code.removeContext", method: "DELETE", target: onContext(id), notFound: "not_found" });
    },
  };
}

const RUN = "code.run";

async function* execute(
  send: (request: Omit<DaemonRequest, "headers">) => Promise<DaemonAnswer>,
  { code, contextId, language, envs }: ExecutionSpec,
  { timeoutMs, ...request }: ExecutionLimits,
  sandboxId: string,
): AsyncGenerator<CodeEvent, void, undefined> {
  const body: Schemas["Execution"] = {
    code,
    ...(contextId !== undefined && { context_id: contextId }),
    ...(language !== undefined && { language }),
    ...(envs !== undefined && { env_vars: envs }),
  };
  const answer = await send({
    ...request,
    operation: RUN,
    method: "POST",
    target: "/execute",
    body: JSON.stringify(body),
    notFound: "not_found",
  });
  const { deadline, response } = answer;
  // From here on the request timeout is over and that of the execution runs.
  deadline.stopTimer();
  const stopTimer = timeoutMs === 0 ? undefined : startLongTimer(timeoutMs, () => deadline.abort(toRunTimeout(timeoutMs, sandboxId)));
  let isComplete = false;
  try {
    for await (const line of readJsonLines(response.body)) {
      if (line.type === "end_of_execution") isComplete = true;
      const event = toEvent(line as unknown as OutputLine);
      if (event !== undefined) yield event;
    }
    if (!isComplete) throw new ConnectionError(`${RUN}: the answer ended before the execution did, so its end is unknown`, { sandboxId });
  } catch (error) {
    throw await answer.explain(error);
  } finally {
    stopTimer?.();
    deadline[Symbol.dispose]();
  }
}

/** `undefined` for lines that tell nothing, or that are of a kind to come. */
function toEvent(line: OutputLine): CodeEvent | undefined {
  switch (line.type) {
    case "number_of_executions":
      return { type: "started", executionCount: line.execution_count };
    case "stdout":
    case "stderr":
      return { type: line.type, text: line.text, at: new Date(line.timestamp) };
    case "result":
      return { type: "result", forms: toForms(line) };
    case "error":
      return { type: "error", name: line.name, value: line.value, traceback: line.traceback };
    default:
      return undefined;
  }
}

function toForms({ type: _type, is_main_result: isMainResult, chart, extra = {}, ...forms }: Schemas["ResultLine"]): ResultForms {
  // A figure without anything drawn has an empty object in place of a chart.
  const isChart = chart?.type !== undefined;
  return { isMainResult, ...forms, ...(isChart && { chart: chart as unknown as Chart }), extra };
}

function toContext(value: unknown, operation: string): CodeContext {
  const { id, language, cwd } = (value ?? {}) as Partial<Schemas["Context"]>;
  if (typeof id !== "string") throw new ProtocolError(`${operation}: the answer is no context`, { operation });
  return { id, language: language ?? "", cwd: cwd ?? "" };
}

/** The sandbox lives and nothing listens on the port. */
function isPortClosed(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.statusCode === 502 && error.message.includes("port is not open");
}

function toNoKernelsError(operation: string, sandboxId: string, cause: unknown): TemplateError {
  return new TemplateError(
    `${operation} needs a template that runs code, and this sandbox was made from another one: create it with the template "code-interpreter-v1"`,
    { operation, sandboxId, cause },
    "failed_precondition",
  );
}

function toRunTimeout(timeoutMs: number, sandboxId: string): TimeoutError {
  const message = `${RUN}: the code was interrupted after timeoutMs (${timeoutMs} ms); raise it, or pass 0 for no limit`;
  return new TimeoutError(message, { operation: RUN, sandboxId, timeout: "command" });
}
