import type { Command } from "commander";
import { addDeployCommand } from "./deploy-command.js";
import { collectPair, collectText, parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

/** The commands below `abx template`. */
export function addTemplateCommands(program: Command, { setExitCode, notices }: ProgramContext): void {
  const template = program.command("template").alias("tpl").description("make templates and look at them");

  template
    .command("init")
    .description("write template.yaml and a Dockerfile to begin with")
    .argument("[directory]", "where to write them", ".")
    .option("--name <name>", "name of the template; by default that of the directory")
    .option("--json", "print the written files as JSON")
    .action(async (directory, options) =>
      setExitCode(await (await import("./commands/template-init.js")).runTemplateInitCommand(directory, options)),
    );

  template
    .command("build")
    .description("build a template from template.yaml and its Dockerfile")
    .argument("[name]", "name, with :tag if wanted; by default the one in template.yaml")
    .option("-p, --path <directory>", "directory with the files", ".")
    .option("-d, --dockerfile <file>", "Dockerfile, relative to the directory")
    .option("-c, --cmd <command>", "runs in every sandbox from its start on")
    .option("--ready-cmd <command>", "ends with 0 once the command is ready")
    .option("--cpu-count <count>", "CPUs of its sandboxes", parseWholeNumber)
    .option("--memory-mb <MiB>", "memory of its sandboxes", parseWholeNumber)
    .option("--tag <tag>", "tag of the build; repeatable", collectText)
    .option("--build-arg <NAME=VALUE>", "value of an ARG; repeatable", collectPair)
    .option("--no-cache", "do every step anew")
    .option("--json", "print the build as JSON")
    .action(async (name, options) =>
      setExitCode(await (await import("./commands/template-build.js")).runTemplateBuildCommand(name, options, notices)),
    );

  addDeployCommand(template, setExitCode);

  template
    .command("list")
    .alias("ls")
    .description("list templates")
    .option("--json", "print a JSON array")
    .action(async (options) => setExitCode(await (await import("./commands/template-list.js")).runTemplateListCommand(options)));

  template
    .command("info")
    .description("show one template with its builds and tags")
    .argument("<template>", "id or name")
    .option("--json", "print it as JSON")
    .action(async (name, options) =>
      setExitCode(await (await import("./commands/template-list.js")).runTemplateInfoCommand(name, options)),
    );

  template
    .command("delete")
    .alias("rm")
    .description("delete templates")
    .argument("<template...>", "ids or names")
    .option("--json", "print which were deleted as JSON")
    .action(async (names, options) =>
      setExitCode(await (await import("./commands/template-list.js")).runTemplateDeleteCommand(names, options)),
    );
}
