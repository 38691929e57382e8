import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { boundLines, boundText } from "../bounded-text.js";
import { searchRoots } from "../search/search-roots.js";
import { searchText } from "../search/search-text.js";
import { defineTool, type Tool } from "../tool.js";
import { QUICK_MS, SANDBOX_ID, type ToolContext } from "../tool-context.js";

const MAX_LINE_LENGTH = 300;
/** What is read of grep; far more than is shown. */
const MAX_MATCHES = 10_000;

export function searchTool({ session, maxTextLength }: ToolContext): Tool {
  return defineTool({
    name: "search_files",
    description:
      "Find lines of text files in the sandbox. Directories named .git and node_modules are left out, and in a search of / also " +
      "/dev, /proc, /run and /sys.",
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
        const { matches, isTruncated, end } = await searchText(sandbox, {
          pattern,
          ignoreCase: ignore_case,
          roots: await toRoots(sandbox, path, options.signal),
          includeNames: include === undefined ? [] : [include],
          excludeNames: [".git", "node_modules"],
          maxMatches: MAX_MATCHES,
          timeoutMs: QUICK_MS,
          signal: options.signal,
        });
        if (matches.length > 0) {
          const lines = matches.map(({ path, line, text }) => boundText(`${path}:${line}:${text}`, MAX_LINE_LENGTH));
          return boundText(boundLines(lines, max_results, "lines"), maxTextLength);
        }
        if (end?.exitCode === 1) return "No line matches.";
        if (end === undefined || isTruncated) throw new InvalidArgumentError("the search took too long; search in a smaller directory");
        throw new InvalidArgumentError(boundText(end.stderr.trim(), 1_000) || `grep ended with exit code ${end.exitCode}`);
      }),
  });
}

/** The path as it was given, so that what is found reads alike, unless it is the root directory under any name. */
async function toRoots(sandbox: Sandbox, path: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
  const { path: resolved, symlinkTarget } = await sandbox.files.getInfo(path, { signal });
  return (symlinkTarget ?? resolved) === "/" ? searchRoots(sandbox, "/", { signal }) : [path];
}
