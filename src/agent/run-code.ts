import type { Sandbox } from "../sandbox/sandbox.js";
import { quoteShellWord } from "../shared/shell-quote.js";
import { type CommandEnd, type RunOptions, runToEnd } from "./run-to-end.js";

/** Languages by the name that a model uses: the ending of a file, and the program that runs it. */
const LANGUAGES = {
  python: { extension: "py", program: "python3" },
  javascript: { extension: "mjs", program: "node" },
  typescript: { extension: "mts", program: "node" },
  bash: { extension: "sh", program: "bash" },
} as const;

export type CodeLanguage = keyof typeof LANGUAGES;

export const CODE_LANGUAGES = Object.keys(LANGUAGES) as readonly CodeLanguage[];

/** Run a program from its text. It stands in the home directory for as long as it runs, so that it finds modules beside it. */
export async function runCode(sandbox: Sandbox, code: string, language: CodeLanguage, options: RunOptions): Promise<CommandEnd> {
  const { extension, program } = LANGUAGES[language];
  const { path } = await sandbox.files.write(`.run-${crypto.randomUUID()}.${extension}`, code, { signal: options.signal });
  try {
    return await runToEnd(sandbox, `exec ${program} ${quoteShellWord(path)}`, options);
  } finally {
    await sandbox.files.remove(path).catch(() => undefined);
  }
}
