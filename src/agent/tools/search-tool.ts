import { InvalidArgumentError } from "../../errors/error-classes.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { boundLines, boundText } from "../bounded-text.js";
import { runToEnd } from "../run-to-end.js";
import { defineTool, type Tool } from "../tool.js";
import { QUICK_MS, SANDBOX_ID, type ToolContext } from "../tool-context.js";

const MAX_LINE_LENGTH = 300;
/** What is read of grep; far more than is shown. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

export function searchTool({ session, maxTextLength }: ToolContext): Tool {
  return defineTool({
    name: "search_files",
    description: "Find lines of text files in the sandbox. Directories named .git and node_modules are left out.",
    parameters: {
      pattern: { type: "string", isRequired: true, description: "Extended regular expression, as grep -E takes it." },
      path: {
        type: "string",
        default: ".",
        description: "File or directory, absolute or relative to the home directory, which is the default.",
      },
      include: { type: "string", description: "Only files whose names match, such as *.py" },
      ignore_case: { type: "boolean", default: false, description: "Take small and capital letters as the same." },
      max_results: { type: "integer", minimum: 1, maximum: 1_000, default: 100, description: "Lines to show." },
      sandbox_id: SANDBOX_ID,
    },
    run: ({ pattern, path, include, ignore_case, max_results, sandbox_id }, options) =>
      session.use(sandbox_id, QUICK_MS, async (sandbox) => {
        const words = ["grep", "-rnIHE", "--exclude-dir=.git", "--exclude-dir=node_modules"];
        if (ignore_case) words.push("-i");
        if (include !== undefined) words.push(`--include=${include}`);
        // Both are words of their own, so neither can be taken for an option.
        words.push("-e", pattern, "--", path);
        const end = await runToEnd(sandbox, quoteShellCommand(words), {
          signal: options.signal,
          cwd: ".",
          timeoutMs: QUICK_MS,
          maxOutputBytes: MAX_OUTPUT_BYTES,
        });
        const lines = end.stdout.split("\n").filter((line) => line !== "");
        if (lines.length > 0)
          return boundText(
            boundLines(
              lines.map((line) => boundText(line, MAX_LINE_LENGTH)),
              max_results,
              "lines",
            ),
            maxTextLength,
          );
        if (end.exitCode === 1) return "No line matches.";
        if (end.timedOutMs !== undefined) throw new InvalidArgumentError("the search took too long; search in a smaller directory");
        throw new InvalidArgumentError(boundText(end.stderr.trim(), 1_000) || `grep ended with exit code ${end.exitCode}`);
      }),
  });
}
