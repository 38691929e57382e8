import type { Command } from "commander";
import type { ProgramContext } from "./program.js";

/** The commands below `abx system`. */
export function addSystemCommands(program: Command, { setExitCode, notices }: ProgramContext): void {
  const system = program.command("system").description("the server that abx talks to, or the platform of this machine");
  const load = () => import("./commands/system.js");

  system
    .command("info")
    .description("show which server or platform is used, and where it keeps its files; starts nothing, shows no key")
    .option("--json", "print it as JSON")
    .action(async (options) => setExitCode(await (await load()).runSystemInfoCommand(options)));

  system
    .command("health")
    .description("tell whether it answers and takes the key")
    .option("--json", "print it as JSON")
    .action(async (options) => setExitCode(await (await load()).runSystemHealthCommand(options)));

  system
    .command("metrics")
    .description("show what all sandboxes use together; of this machine also the room on the disk")
    .option("--json", "print it as JSON, sizes in bytes")
    .action(async (options) => setExitCode(await (await load()).runSystemMetricsCommand(options)));

  system
    .command("version")
    .description("show the versions of abx, of Node, and of the platform of this machine while it runs")
    .option("--json", "print them as JSON")
    .action(async (options) => setExitCode(await (await load()).runSystemVersionCommand(options)));

  system
    .command("stop")
    .description("end the platform of this machine; its sandboxes go on, and the next platform finds them again")
    .option("--json", "print its pid and the number of sandboxes as JSON")
    .action(async (options) => setExitCode(await (await import("./commands/system-stop.js")).runSystemStopCommand(options, notices)));

  system
    .command("prune")
    .description("remove what this machine keeps of template builds and nothing stands on: cached layers, uploads, builds without a tag")
    .option("--dry-run", "only show it")
    .option("--json", "print what was removed as JSON")
    .action(async (options) => setExitCode(await (await import("./commands/system-prune.js")).runSystemPruneCommand(options, notices)));
}
