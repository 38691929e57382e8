import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { CodeClient } from "../../protocol/code-client.js";
import type { CodeContext } from "../../protocol/code-types.js";
import { pickRequest } from "../../shared/pick-request.js";
import { checkTimeoutMs, type RequestOptions } from "../../transport/config.js";
import { checkEnvs } from "../options.js";
import type { Execution } from "./execution.js";
import { type ExecutionCallbacks, ExecutionRecorder } from "./execution-recorder.js";

/** How code is run. */
export interface RunCodeOptions extends RequestOptions, ExecutionCallbacks {
  /** Run in the default context of this language: `python`, `javascript`, `typescript`, `bash` or the name of an installed kernel. @defaultValue "python" */
  readonly language?: string | undefined;
  /** Run in this context; excludes `language`. */
  readonly context?: CodeContext | string | undefined;
  /** Variables for this execution alone; `undefined` values are left out. */
  readonly envs?: Readonly<Record<string, string | undefined>> | undefined;
  /** Milliseconds from the begin of the execution until it is interrupted; `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
  /**
   * Bytes of standard output, and of standard error, that the result keeps: the first half and the last half. Callbacks get everything.
   *
   * @defaultValue no limit: all output is kept in memory
   */
  readonly maxOutputBytes?: number | undefined;
}

/** What a context is made of. */
export interface CreateContextOptions extends RequestOptions {
  /** @defaultValue "python" */
  readonly language?: string | undefined;
  /** Working directory; relative to the user's home. @defaultValue the home */
  readonly cwd?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Runs code in kernels that keep their state. Needs a template with kernels, such as `code-interpreter-v1`. */
export class Code {
  readonly #client: CodeClient;

  /** @internal */
  constructor(client: CodeClient) {
    this.#client = client;
  }

  /**
   * Run code and resolve at its end. An exception of the code is a part of the result (`error`), and not one of the call.
   *
   * Executions of one context run one after the other; `requestTimeoutMs` covers the wait for one's turn. Aborting `signal`, a failing
   * callback and the timeout interrupt the code, and the context stays as it is.
   *
   * @throws {@link TimeoutError} the code was interrupted after `timeoutMs`, did not get its turn within `requestTimeoutMs`, or the sandbox ended;
   * {@link TemplateError} the template runs no code; {@link NotFoundError} there is no such context; {@link InvalidArgumentError} there is no
   * such language; {@link ConnectionError} the connection broke and the end is unknown.
   * @see `executeCode` in openapi/code-interpreter.yaml
   */
  async run(code: string, options: RunCodeOptions = {}): Promise<Execution> {
    const { language, context, envs, maxOutputBytes } = options;
    if (typeof code !== "string") throw new InvalidArgumentError(`the code must be a string, not ${typeof code}`);
    if (language !== undefined && context !== undefined) {
      throw new InvalidArgumentError("language and context exclude each other: a context has its language");
    }
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const spec = { code, language, contextId: context === undefined ? undefined : idOf(context), envs: envs && checkEnvs(envs) };
    const recorder = new ExecutionRecorder(options, maxOutputBytes);
    for await (const event of this.#client.execute(spec, { ...pickRequest(options), timeoutMs })) await recorder.take(event);
    return recorder.finish();
  }

  /**
   * Make a context; resolves when its kernel is ready.
   *
   * @throws {@link InvalidArgumentError} there is no such language or directory; {@link TemplateError} the template runs no code.
   */
  async createContext(options: CreateContextOptions = {}): Promise<CodeContext> {
    const { language, cwd } = options;
    return this.#client.createContext({ language, cwd }, pickRequest(options));
  }

  /** List the contexts, in the order of their creation. */
  async listContexts(options: RequestOptions = {}): Promise<readonly CodeContext[]> {
    return this.#client.listContexts(options);
  }

  /** Give a context a new kernel; its state is lost. @throws {@link NotFoundError} there is no such context. */
  async restartContext(context: CodeContext | string, options: RequestOptions = {}): Promise<void> {
    await this.#client.restartContext(idOf(context), options);
  }

  /** End a context. @throws {@link NotFoundError} there is no such context. */
  async removeContext(context: CodeContext | string, options: RequestOptions = {}): Promise<void> {
    await this.#client.removeContext(idOf(context), options);
  }
}

function idOf(context: CodeContext | string): string {
  const id = typeof context === "string" ? context : context.id;
  if (typeof id !== "string" || id === "")
    throw new InvalidArgumentError("the context must be one of createContext or listContexts, or its id");
  return id;
}
