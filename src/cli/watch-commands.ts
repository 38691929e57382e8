import type { Command } from "commander";
import { parsePort, parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

/** `abx top`, `logs` and `open`: looking at sandboxes from outside. */
export function addWatchCommands(program: Command, { setExitCode, outputClosed, notices }: ProgramContext): void {
  program
    .command("top")
    .description("show what all sandboxes use, live on a terminal; q quits")
    .option("--interval <seconds>", "time between two looks", parseWholeNumber, 2)
    .option("--once", "print one table and end; without a terminal that is always so")
    .option("--json", "print one JSON array and end")
    .action(async (options) => setExitCode(await (await import("./commands/top.js")).runTopCommand(options, outputClosed)));

  program
    .command("logs")
    .description("show what the platform wrote down about a sandbox")
    .argument("<sandbox-id>")
    .option("-f, --follow", "go on until the sandbox ends; with --json one object per line")
    .option("--level <level>", "only lines of at least this level: debug, info, warn or error")
    .option("--network", "what it tried to reach, and why it was let through or not; hosts and ports, never paths or headers")
    .option("--limit <entries>", "newest entries to show", parseWholeNumber, 100)
    .option("--json", "print a JSON array")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/logs.js")).runLogsCommand(sandboxId, options, outputClosed, notices)),
    );

  program
    .command("open")
    .description("print the address of a port of a sandbox, and show it in the browser of this machine")
    .argument("<sandbox-id>")
    .argument("<port>", "TCP port inside the sandbox", parsePort)
    .option("--path <path>", "path of the page", "/")
    .option("--print", "only print it")
    .option("--json", "print address and whether it needs a token as JSON")
    .action(async (sandboxId, port, options) =>
      setExitCode(await (await import("./commands/open.js")).runOpenCommand(sandboxId, port, options, notices)),
    );
}
