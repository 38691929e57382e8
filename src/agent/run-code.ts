import { SandboxError } from "../errors/sandbox-error.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { quoteShellWord } from "../shared/shell-quote.js";
import { runInKernel } from "./run-in-kernel.js";
import { type CommandEnd, type RunOptions, runToEnd, toRunResult } from "./run-to-end.js";
import type { ToolResult } from "./tool.js";

/** Languages by the name that a model uses: the ending of a file, and the program that runs it. */
const LANGUAGES = {
  python: { extension: "py", program: "python3" },
  javascript: { extension: "mjs", program: "node" },
  typescript: { extension: "mts", program: "node" },
  bash: { extension: "sh", program: "bash" },
} as const;

export type CodeLanguage = keyof typeof LANGUAGES;

export const CODE_LANGUAGES = Object.keys(LANGUAGES) as readonly CodeLanguage[];

/**
 * Run code in the kernel of its language, which keeps variables between calls, or as a program of its own where the sandbox has no such kernel.
 * It is asked each time, since a kernel can be installed at any time.
 */
export async function runCode(sandbox: Sandbox, code: string, language: CodeLanguage, options: RunOptions): Promise<ToolResult> {
  try {
    return await runInKernel(sandbox, code, language, options);
  } catch (error) {
    if (!isWithoutKernel(error)) throw error;
  }
  return toRunResult(await runAsProgram(sandbox, code, language, options));
}

/** True where the sandbox has no kernels, or none for the language; then nothing ran. */
function isWithoutKernel(error: unknown): boolean {
  return (
    SandboxError.isInstance(error) &&
    error.operation === "code.run" &&
    (error.reason === "failed_precondition" || error.reason === "invalid_argument")
  );
}

/** Run a program from its text. It stands in the home directory for as long as it runs, so that it finds modules beside it. */
async function runAsProgram(sandbox: Sandbox, code: string, language: CodeLanguage, options: RunOptions): Promise<CommandEnd> {
  const { extension, program } = LANGUAGES[language];
  const { path } = await sandbox.files.write(`.run-${crypto.randomUUID()}.${extension}`, code, { signal: options.signal });
  try {
    return await runToEnd(sandbox, `exec ${program} ${quoteShellWord(path)}`, options);
  } finally {
    await sandbox.files.remove(path).catch(() => undefined);
  }
}
