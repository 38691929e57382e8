import type { Command } from "commander";
import type { ProgramContext } from "./program.js";

/** The commands below `abx config`. */
export function addConfigCommands(program: Command, { setExitCode, notices }: ProgramContext): void {
  const config = program
    .command("config")
    .description("settings of this user: which server, which key; the environment and options count before them");
  config
    .command("list")
    .alias("ls")
    .description("list the settings of the file; keys and passwords are not shown")
    .option("--json", "print them as JSON")
    .action(async (options) => setExitCode(await (await import("./commands/config.js")).runConfigList(options, notices)));

  config
    .command("get")
    .description("print one setting of the file")
    .argument("<name>", "such as api_url")
    .action(async (name) => setExitCode(await (await import("./commands/config.js")).runConfigGet(name)));

  config
    .command("set")
    .description("write one setting into the file")
    .argument("<name>", "api_key, domain, region, api_url, sandbox_url, volume_url, platform, proxy or encoding")
    .argument("[value]", "the first line of stdin when left out, which keeps a key out of the shell's history")
    .action(async (name, value) => setExitCode(await (await import("./commands/config.js")).runConfigSet(name, value)));

  config
    .command("delete")
    .alias("rm")
    .description("take one setting out of the file")
    .argument("<name>")
    .action(async (name) => setExitCode(await (await import("./commands/config.js")).runConfigDelete(name)));
}
