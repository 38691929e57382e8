import type { CodeEvent } from "../../protocol/code-types.js";
import { createOutputCapture, type OutputCapture } from "../output-capture.js";
import { type CodeOutput, type Execution, type ExecutionError, Result } from "./execution.js";

/** Who hears what comes; each is awaited before the next event is read. */
export interface ExecutionCallbacks {
  /** A piece of standard output. */
  readonly onStdout?: ((output: CodeOutput) => unknown) | undefined;
  /** A piece of standard error. */
  readonly onStderr?: ((output: CodeOutput) => unknown) | undefined;
  /** Something that the code showed, or the value of its last expression. */
  readonly onResult?: ((result: Result) => unknown) | undefined;
  /** The exception that ended the code. */
  readonly onError?: ((error: ExecutionError) => unknown) | undefined;
}

/** Gathers the events of an execution, and passes each on as it comes. */
export class ExecutionRecorder {
  readonly #callbacks: ExecutionCallbacks;
  readonly #isLimited: boolean;
  readonly #captures: { readonly stdout: OutputCapture; readonly stderr: OutputCapture };
  readonly #logs: { readonly stdout: string[]; readonly stderr: string[] } = { stdout: [], stderr: [] };
  readonly #results: Result[] = [];
  readonly #encoder = new TextEncoder();
  #error: ExecutionError | undefined;
  #executionCount: number | undefined;

  constructor(callbacks: ExecutionCallbacks, maxOutputBytes: number | undefined) {
    this.#callbacks = callbacks;
    this.#isLimited = maxOutputBytes !== undefined;
    this.#captures = { stdout: createOutputCapture(maxOutputBytes), stderr: createOutputCapture(maxOutputBytes) };
  }

  async take(event: CodeEvent): Promise<void> {
    const { onStdout, onStderr, onResult, onError } = this.#callbacks;
    switch (event.type) {
      case "started":
        this.#executionCount = event.executionCount;
        break;
      case "stdout":
      case "stderr": {
        const { type, text, at } = event;
        if (this.#isLimited) this.#captures[type].add(this.#encoder.encode(text), text);
        else this.#logs[type].push(text);
        await (type === "stdout" ? onStdout : onStderr)?.({ text, at });
        break;
      }
      case "result": {
        const result = new Result(event.forms);
        this.#results.push(result);
        await onResult?.(result);
        break;
      }
      case "error": {
        const { name, value, traceback } = event;
        this.#error = { name, value, traceback };
        await onError?.(this.#error);
      }
    }
  }

  finish(): Execution {
    const textOf = (name: "stdout" | "stderr") => (this.#isLimited ? this.#captures[name].text : this.#logs[name].join(""));
    const omittedBytes = this.#captures.stdout.omittedBytes + this.#captures.stderr.omittedBytes;
    return {
      results: this.#results,
      stdout: textOf("stdout"),
      stderr: textOf("stderr"),
      logs: this.#logs,
      error: this.#error,
      executionCount: this.#executionCount,
      text: this.#results.find(({ isMainResult }) => isMainResult)?.text,
      truncatedBytes: omittedBytes === 0 ? undefined : omittedBytes,
    };
  }
}
