import type { Command } from "commander";
import { collectPair, parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

/** The commands below `abx process`. */
export function addProcessCommands(program: Command, { setExitCode, outputClosed, notices }: ProgramContext): void {
  const processes = program.command("process").alias("ps").description("processes of a sandbox");
  processes
    .command("list")
    .alias("ls")
    .description("list the commands and terminals that run; `abx exec <sandbox-id> -- ps` shows all processes")
    .argument("<sandbox-id>")
    .option("--json", "print a JSON array")
    .action(async (id, options) => setExitCode(await (await import("./commands/process.js")).runProcessList(id, options, notices)));

  processes
    .command("start")
    .description("start a command that goes on without this program, and print its pid")
    .usage("[options] <sandbox-id> -- <command> [arguments...]")
    .argument("<sandbox-id>")
    .argument("<command...>")
    .option("-e, --env <KEY=VALUE>", "variable for the command; repeatable", collectPair)
    .option("-w, --cwd <path>", "working directory")
    .option("-u, --user <name>", "user inside the sandbox")
    .option("--tag <tag>", "name to find it by in the list")
    .option("--timeout <seconds>", "kill the command after this time; 0 never", parseWholeNumber, 0)
    .option("--json", "print the pid as JSON")
    .action(async (id, command, options) =>
      setExitCode(await (await import("./commands/process.js")).runProcessStart(id, command, options)),
    );

  processes
    .command("attach")
    .description("follow the output of a running command; it goes on when this program ends")
    .argument("<sandbox-id>")
    .argument("<pid>", "pid inside the sandbox", parseWholeNumber)
    .action(async (id, pid) => setExitCode(await (await import("./commands/process-attach.js")).runProcessAttach(id, pid, outputClosed)));

  processes
    .command("signal")
    .description("send a signal to a command and its group")
    .argument("<sandbox-id>")
    .argument("<pid>", "pid inside the sandbox", parseWholeNumber)
    .argument("[signal]", "name of a POSIX signal", "SIGTERM")
    .option("--json", "print whether there was such a process as JSON")
    .action(async (id, pid, signal, options) =>
      setExitCode(await (await import("./commands/process.js")).runProcessSignal(id, pid, signal, options)),
    );

  processes
    .command("kill")
    .description("end a command and its group at once")
    .argument("<sandbox-id>")
    .argument("<pid>", "pid inside the sandbox", parseWholeNumber)
    .option("--json", "print whether there was such a process as JSON")
    .action(async (id, pid, options) =>
      setExitCode(await (await import("./commands/process.js")).runProcessSignal(id, pid, "SIGKILL", options)),
    );
}
