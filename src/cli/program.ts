import { Command, Option } from "commander";
import { VERSION } from "../shared/version.js";
import { addCompletionCommand } from "./completion-commands.js";
import { addConfigCommands } from "./config-commands.js";
import { addFileCommands } from "./file-commands.js";
import { addMcpCommands } from "./mcp-commands.js";
import type { Notices } from "./notices.js";
import { collectPair, collectText, parsePort, parseWholeNumber } from "./option-parsers.js";
import { addProcessCommands } from "./process-commands.js";
import { addStateCommands } from "./state-commands.js";
import { addSystemCommands } from "./system-commands.js";
import { addTemplateCommands } from "./template-commands.js";
import { addWatchCommands } from "./watch-commands.js";

export interface ProgramContext {
  /** Aborts when nobody reads stdout any more. */
  readonly outputClosed: AbortSignal;
  readonly setExitCode: (code: number) => void;
  /** The end of the reader is no failure of this command, but its proper end. */
  readonly ignoreClosedOutput: () => void;
  readonly notices: Notices;
}

/** The command line of `abx`. What a command does is loaded when it runs, so help and usage errors are quick. */
export function buildProgram(context: ProgramContext): Command {
  const { outputClosed, setExitCode, notices } = context;
  const program = new Command("abx")
    .description("Isolated sandboxes for AI agents, on this machine or on a server of the E2B wire.")
    .version(VERSION, "-V, --version")
    .option("-q, --quiet", "no notices and no progress; lists print bare ids")
    .on("option:quiet", () => notices.silence())
    .option("--no-color", "no colours on a terminal, as with the variable NO_COLOR")
    .on("option:no-color", () => {
      process.env.NO_COLOR = "1";
    })
    .exitOverride()
    .showHelpAfterError("(add --help for the usage)")
    .addHelpText(
      "after",
      "\nExit status: 0 ok, 1 general, 2 usage, 3 auth, 4 not found, 5 timeout, 6 quota; `exec` and `connect` pass on that of the command.",
    );

  program
    .command("setup")
    .description("prepare this machine: OCI runtime, id ranges and the template `base`")
    .option("--all", "build the template `code-interpreter-v1` too")
    .addOption(new Option("--runtime <name>", "install this OCI runtime too").choices(["runsc"]))
    .option("--json", "print the result as JSON")
    .action(async (options) => setExitCode(await (await import("./commands/setup.js")).runSetupCommand(options, notices)));

  program
    .command("doctor")
    .description("tell what this machine can isolate, what it cannot, and what to do about it")
    .option("--json", "print the report as JSON")
    .action(async (options) => setExitCode(await (await import("./commands/doctor.js")).runDoctorCommand(options)));

  program
    .command("serve")
    .description("run the local platform in the foreground")
    .option("--port <port>", "TCP port; 0 lets the system choose (default: the one that it had, if it is free)", parsePort)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--on-demand", "stop after a time without sandboxes and requests")
    .addOption(new Option("--runtime <name>", "OCI runtime of the sandboxes").choices(["crun", "runc", "runsc"]))
    .option("--disk-mb <MiB>", "what each sandbox may write to its own file system; 0 for no limit", parseWholeNumber)
    .option("--max-sandboxes <count>", "sandboxes that may exist at a time", parseWholeNumber)
    .addOption(new Option("--log-level <level>", "the least that is logged").choices(["debug", "info", "warn", "error"]))
    .addOption(new Option("--log-format <format>", "json: an object per line; text: for people").choices(["json", "text"]))
    .option("--json", "print the address as JSON once it listens")
    .action(async (options) => setExitCode(await (await import("./commands/serve.js")).runServeCommand(options)));

  program
    .command("create")
    .description("create a sandbox and print its id")
    .argument("[template]", "template id or alias", "base")
    .option("--timeout <seconds>", "life of the sandbox", parseWholeNumber)
    .option("--volume <PATH=NAME>", "volume to mount; repeatable", collectPair)
    .addOption(new Option("--minimum-isolation <level>", "refuse a weaker wall").choices(["container", "gvisor", "vm"]))
    .option("-e, --env <KEY=VALUE>", "variable for every command inside; repeatable", collectPair)
    .option("-m, --metadata <KEY=VALUE>", "label to find it by; repeatable", collectPair)
    .option("--json", "print the sandbox as JSON")
    .action(async (template, options) => setExitCode(await (await import("./commands/create.js")).runCreateCommand(template, options)));

  program
    .command("list")
    .alias("ls")
    .description("list sandboxes, newest first")
    .option("--state <state>", "running or paused; repeatable", collectText)
    .option("-m, --metadata <KEY=VALUE>", "only those with this label; repeatable", collectPair)
    .option("--json", "print a JSON array")
    .action(async (options) => setExitCode(await (await import("./commands/list.js")).runListCommand(options, notices)));

  program
    .command("info")
    .description("show one sandbox")
    .argument("<sandbox-id>")
    .option("--json", "print it as JSON")
    .action(async (sandboxId, options) => setExitCode(await (await import("./commands/info.js")).runInfoCommand(sandboxId, options)));

  program
    .command("exec")
    .description("run a command: everything after -- reaches it as it is")
    .usage("[options] <sandbox-id> -- <command> [arguments...]")
    .showHelpAfterError("(options of the command stand behind --; a line of a shell is: -- sh -c 'line'; add --help for the usage)")
    .argument("<sandbox-id>")
    .argument("<command...>")
    .option("-e, --env <KEY=VALUE>", "variable for the command; repeatable", collectPair)
    .option("-w, --cwd <path>", "working directory")
    .option("-u, --user <name>", "user inside the sandbox")
    .option("-i, --interactive", "hand stdin on even where it is a terminal")
    .addOption(new Option("-t, --tty", "run it in a terminal, to which the keys go").conflicts("json"))
    .option("--timeout <seconds>", "kill the command after this time; 0 never", parseWholeNumber, 0)
    .option("--json", "print exit status and output as JSON once it ended")
    .action(async (sandboxId, command, options) =>
      setExitCode(await (await import("./commands/exec.js")).runExecCommand(sandboxId, command, options, outputClosed)),
    );

  program
    .command("connect")
    .description("open a terminal in a sandbox")
    .argument("<sandbox-id>")
    .option("-w, --cwd <path>", "working directory")
    .option("-u, --user <name>", "user inside the sandbox")
    .option("--json", "print how the terminal ended as JSON on stderr")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/connect.js")).runConnectCommand(sandboxId, options, outputClosed)),
    );

  program
    .command("kill")
    .description("end sandboxes")
    .argument("[sandbox-id...]")
    .option("--all", "every sandbox of this key")
    .option("--json", "print which ids were ended as JSON")
    .action(async (sandboxIds, options) => setExitCode(await (await import("./commands/kill.js")).runKillCommand(sandboxIds, options)));

  addWatchCommands(program, context);
  addFileCommands(program, context);
  addProcessCommands(program, context);
  addStateCommands(program, context);
  addTemplateCommands(program, context);
  addSystemCommands(program, context);
  addMcpCommands(program, context);
  addConfigCommands(program, context);
  addCompletionCommand(program, context);
  return program;
}
