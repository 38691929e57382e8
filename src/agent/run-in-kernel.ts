import { InvalidArgumentError, TimeoutError } from "../errors/error-classes.js";
import type { CodeOutput, ExecutionError, Result } from "../sandbox/code/execution.js";
import { createOutputCapture } from "../sandbox/output-capture.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { fromBase64 } from "../shared/base64.js";
import { boundText } from "./bounded-text.js";
import { imageTypeOf } from "./image-type.js";
import { type RunOptions, reportLine } from "./run-to-end.js";
import type { ToolContent, ToolResult } from "./tool.js";

/** Images that an answer holds, and the characters of base64 that all of them have. */
const MAX_IMAGES = 10;
const MAX_IMAGE_CHARS = 8 * 1024 * 1024;
/** Milliseconds that code waits at least for what runs before it in its kernel. */
const MIN_WAIT_MS = 60_000;
/** Results of one execution that are kept until its end. */
const MAX_RESULTS = 1_000;
const MAX_RESULT_CHARS = 64 * 1024 * 1024;

/** What code printed and showed, in the form of an answer. */
interface Shown {
  readonly stdout: string;
  readonly stderr: string;
  readonly results: readonly Result[];
  readonly error: ExecutionError | undefined;
}

/**
 * Run code in the kernel of its language, and keep what it showed also where its time was over. The timeout and an abort interrupt it; the
 * kernel and its variables stay.
 *
 * @throws what `sandbox.runCode` throws; {@link InvalidArgumentError} it shows more than can be kept.
 */
export async function runInKernel(sandbox: Sandbox, code: string, language: string, options: RunOptions): Promise<ToolResult> {
  const { timeoutMs, signal, maxOutputBytes, onProgress } = options;
  const encoder = new TextEncoder();
  const captures = { stdout: createOutputCapture(maxOutputBytes), stderr: createOutputCapture(maxOutputBytes) };
  const take = (stream: keyof typeof captures, { text }: CodeOutput) => {
    captures[stream].add(encoder.encode(text), text);
    if (onProgress !== undefined) reportLine(text, onProgress);
  };
  const results: Result[] = [];
  let resultChars = 0;
  const onResult = (result: Result) => {
    resultChars += JSON.stringify(result).length;
    if (results.push(result) > MAX_RESULTS || resultChars > MAX_RESULT_CHARS) {
      throw new InvalidArgumentError(
        `the code was interrupted because it displays more than ${MAX_RESULTS} results, or more than ${MAX_RESULT_CHARS} characters of them; ` +
          "write them into files",
      );
    }
  };
  const shown = (error?: ExecutionError): Shown => ({ stdout: captures.stdout.text, stderr: captures.stderr.text, results, error });
  try {
    const { error, executionCount } = await sandbox.runCode(code, {
      ...{ language, timeoutMs, signal, onResult, maxOutputBytes: 0 },
      // Until its turn comes, as earlier code may still run.
      requestTimeoutMs: Math.max(MIN_WAIT_MS, timeoutMs),
      onStdout: (output) => take("stdout", output),
      onStderr: (output) => take("stderr", output),
    });
    const count = executionCount === undefined ? "" : `, execution ${executionCount}`;
    return toResult(`kernel: ${language}${count}`, shown(error), maxOutputBytes);
  } catch (error) {
    if (!(error instanceof TimeoutError) || error.timeout !== "command") throw error;
    const head = `kernel: ${language}. The code was interrupted after ${timeoutMs} ms. Give a larger timeout_ms, or use run_command with background: true for a service.`;
    return toResult(head, shown(), maxOutputBytes, true);
  }
}

function toResult(head: string, { stdout, stderr, results, error }: Shown, maxTextLength: number, isInterrupted = false): ToolResult {
  const images: ToolContent[] = [];
  const texts: string[] = [];
  let imageChars = 0;
  for (const result of results) {
    const image = toImage(result);
    if (image === undefined) {
      texts.push(textOf(result));
    } else if (images.length < MAX_IMAGES && imageChars + image.data.length <= MAX_IMAGE_CHARS) {
      imageChars += image.data.length;
      images.push(image);
    } else {
      texts.push("[an image that has no room in this answer; write it into a file]");
    }
  }
  const parts = [
    ["stdout", stdout],
    ["stderr", stderr],
    ["result", boundText(texts.join("\n"), maxTextLength)],
    ["error", error === undefined ? "" : boundText(error.traceback || `${error.name}: ${error.value}`, maxTextLength)],
  ].flatMap(([name, text = ""]) => (text === "" ? [] : [`${name}:\n${text.replace(/\n$/, "")}`]));
  if (parts.length + images.length === 0 && !isInterrupted) parts.push("It showed nothing.");
  return {
    content: [{ type: "text", text: [head, ...parts].join("\n") }, ...images],
    isError: isInterrupted || error !== undefined,
  };
}

/** What a model can see of it; the bytes come from the guest, so their kind is looked at. */
function toImage({ png, jpeg }: Result): Extract<ToolContent, { type: "image" }> | undefined {
  const data = (png ?? jpeg)?.replace(/\s/g, "");
  if (data === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4 !== 0) return undefined;
  const mimeType = imageTypeOf(fromBase64(data.slice(0, 24)));
  return mimeType === undefined ? undefined : { type: "image", data, mimeType };
}

/** The form that says most in words. */
function textOf({ text, markdown, latex, json, html, svg, javascript }: Result): string {
  return text ?? markdown ?? latex ?? (json === undefined ? undefined : JSON.stringify(json)) ?? html ?? svg ?? javascript ?? "[no text]";
}
