import { type Command, Option } from "commander";
import { collectText, parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

const USER = ["-u, --user <name>", "user inside the sandbox: relative paths begin at this user's home"] as const;

/** `abx cp` and the commands below `abx files`. */
export function addFileCommands(program: Command, context: ProgramContext): void {
  program
    .command("cp")
    .description("copy a file or a directory into a sandbox or out of it")
    .usage("[options] <source> <target>; the one inside is written <sandbox-id>:<path>")
    .argument("<source>", "what to copy; <directory>/. means what is in it")
    .argument("<target>", "where to; an existing directory, or a path that ends in /, gets it under its own name")
    .option(...USER)
    .option("--ignore <pattern>", "leave out what matches, in the form of .gitignore; directories only, repeatable", collectText)
    .addOption(
      new Option("--outside-links <what>", "links of a copied directory that lead out of it")
        .choices(["refuse", "skip", "keep"])
        .default("refuse"),
    )
    .option("--json", "print what was copied as JSON")
    .action(async (source, target, options) =>
      context.setExitCode(await (await import("./commands/copy.js")).runCopyCommand(source, target, options, context.notices)),
    );

  const files = program.command("files").alias("fs").description("look at the files of a sandbox and change them");
  files
    .command("list")
    .alias("ls")
    .description("list a directory")
    .argument("<sandbox-id>")
    .argument("[path]", "by default the user's home", ".")
    .option("--depth <levels>", "levels to list", parseWholeNumber, 1)
    .option(...USER)
    .option("--json", "print a JSON array")
    .action(async (id, path, options) =>
      context.setExitCode(await (await import("./commands/files.js")).runFilesList(id, path, options, context.notices)),
    );

  files
    .command("stat")
    .description("describe a file or a directory")
    .argument("<sandbox-id>")
    .argument("<path>")
    .option(...USER)
    .option("--json", "print it as JSON")
    .action(async (id, path, options) => context.setExitCode(await (await import("./commands/files.js")).runFilesStat(id, path, options)));

  files
    .command("read")
    .alias("cat")
    .description("write what is in a file to stdout")
    .argument("<sandbox-id>")
    .argument("<path>")
    .option(...USER)
    .action(async (id, path, options) =>
      context.setExitCode(await (await import("./commands/file-content.js")).runFilesRead(id, path, options, context.outputClosed)),
    );

  files
    .command("write")
    .description("write stdin to a file; parents are made, an existing file is replaced")
    .argument("<sandbox-id>")
    .argument("<path>")
    .option(...USER)
    .option("--json", "print the path and the size as JSON")
    .action(async (id, path, options) =>
      context.setExitCode(await (await import("./commands/file-content.js")).runFilesWrite(id, path, options)),
    );

  addChangingCommands(files, context);
}

function addChangingCommands(files: Command, context: ProgramContext): void {
  files
    .command("mkdir")
    .description("make a directory and its parents; one that exists already is fine")
    .argument("<sandbox-id>")
    .argument("<path>")
    .option(...USER)
    .option("--json", "print whether it was made as JSON")
    .action(async (id, path, options) => context.setExitCode(await (await import("./commands/files.js")).runFilesMkdir(id, path, options)));

  files
    .command("mv")
    .description("rename or move; an existing file is replaced")
    .argument("<sandbox-id>")
    .argument("<path>")
    .argument("<new-path>")
    .option(...USER)
    .option("--json", "print the entry as JSON")
    .action(async (id, path, newPath, options) =>
      context.setExitCode(await (await import("./commands/files.js")).runFilesMove(id, path, newPath, options)),
    );

  files
    .command("rm")
    .description("remove files, and directories with all that is in them; a path where nothing is is fine")
    .argument("<sandbox-id>")
    .argument("<path...>")
    .option(...USER)
    .option("--json", "print the removed paths as JSON")
    .action(async (id, paths, options) =>
      context.setExitCode(await (await import("./commands/files.js")).runFilesRemove(id, paths, options)),
    );

  files
    .command("watch")
    .description("follow the changes in a directory; one JSON object per line")
    .argument("<sandbox-id>")
    .argument("[path]", "by default the user's home", ".")
    .option("-r, --recursive", "directories below too")
    .option(...USER)
    .action(async (id, path, options) =>
      context.setExitCode(await (await import("./commands/file-watch.js")).runFilesWatch(id, path, options, context)),
    );
}
