import { quoteShellWord } from "../../shared/shell-quote.js";
import { boundLines, boundText } from "../bounded-text.js";
import { toCommandLine } from "../command-line.js";
import { CODE_LANGUAGES, type CodeLanguage, runCode } from "../run-code.js";
import { runToEnd, toRunResult } from "../run-to-end.js";
import { defineTool, type Tool } from "../tool.js";
import { QUICK_MS, SANDBOX_ID, TIMEOUT_MS, type ToolContext } from "../tool-context.js";

const MAX_PROCESSES = 100;

export function commandTools({ session, maxTextLength: maxOutputBytes }: ToolContext): Tool[] {
  return [
    defineTool({
      name: "run_code",
      reportsProgress: true,
      description:
        "Run code in the sandbox, in the home directory, and get what it prints. Where the answer begins with `kernel`, variables, imports and " +
        "functions stay for later calls in the same language, and the value of the last expression and figures are shown too. Where it begins " +
        "with `exit code`, each call is a new process: files stay, variables do not, and only what is printed is seen. " +
        "Sandboxes of the template code-interpreter-v1 have kernels.",
      parameters: {
        code: { type: "string", isRequired: true, description: "A whole program, or the next step in a kernel." },
        language: { type: "string", options: CODE_LANGUAGES, default: "python", description: "What it is written in." },
        timeout_ms: TIMEOUT_MS,
        sandbox_id: SANDBOX_ID,
      },
      run: ({ code, language, timeout_ms: timeoutMs, sandbox_id }, options) =>
        // As long again until its turn in a kernel.
        session.use(sandbox_id, 2 * timeoutMs, async (sandbox) => {
          // The parameter allows these words only.
          return runCode(sandbox, code, language as CodeLanguage, { ...options, timeoutMs, maxOutputBytes });
        }),
    }),
    defineTool({
      name: "run_command",
      reportsProgress: true,
      description:
        "Run a command line of bash in the sandbox and get its exit code, stdout and stderr. Commands cannot ask for input. " +
        "For a service that goes on running, such as a web server, set background; its output then goes into a file.",
      parameters: {
        command: { type: "string", isRequired: true, description: "Pipes, quotes, variables and several lines work." },
        cwd: { type: "string", description: "Working directory. The default is the home directory." },
        background: { type: "boolean", default: false, description: "Start it, do not wait for its end and never kill it." },
        timeout_ms: TIMEOUT_MS,
        sandbox_id: SANDBOX_ID,
      },
      run: ({ command, cwd, background, timeout_ms: timeoutMs, sandbox_id }, options) =>
        session.use(sandbox_id, timeoutMs, async (sandbox) => {
          if (!background) return toRunResult(await runToEnd(sandbox, command, { ...options, cwd, timeoutMs, maxOutputBytes }));
          const logPath = `/tmp/background-${crypto.randomUUID().slice(0, 8)}.log`;
          const line = `exec >${quoteShellWord(logPath)} 2>&1\n${command}`;
          const handle = await sandbox.commands.start(line, { cwd, timeoutMs: 0, signal: options.signal, maxOutputBytes: 0 });
          await handle.disconnect();
          return `Started as process ${handle.pid}. Its output goes to ${logPath}. List it with list_processes, end it with: kill ${handle.pid}`;
        }),
    }),
    defineTool({
      name: "list_processes",
      description: "List the commands that run in the sandbox, those in the background among them.",
      parameters: { sandbox_id: SANDBOX_ID },
      run: ({ sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const processes = await sandbox.commands.list({ signal });
          if (processes.length === 0) return "No command runs.";
          const lines = processes.map((process) => {
            const { pid, cwd } = process;
            const shown = toCommandLine(process)
              .replace(/^exec >\S+ 2>&1\n/, "")
              .replaceAll("\n", " ⏎ ");
            return `${pid}\t${boundText(shown, 300)}${cwd === undefined ? "" : `\t(in ${cwd})`}`;
          });
          return boundLines(["pid\tcommand", ...lines], MAX_PROCESSES, "processes");
        }),
    }),
  ];
}
