import type { Command } from "commander";
import { parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

/** `abx pause`, `resume`, `fork`, `metrics`, `events` and `snapshot`. */
export function addStateCommands(program: Command, { setExitCode, outputClosed, notices }: ProgramContext): void {
  program
    .command("pause")
    .description("set a sandbox aside: its processes and its time stand still")
    .argument("<sandbox-id>")
    .option("--no-memory", "keep only its files; a resume starts it anew")
    .option("--json", "print whether it was running as JSON")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/pause.js")).runPauseCommand(sandboxId, options, notices)),
    );

  program
    .command("resume")
    .description("bring a paused sandbox back")
    .argument("<sandbox-id>")
    .option("--timeout <seconds>", "life from now", parseWholeNumber)
    .option("--reboot", "start it anew from its files, without its memory")
    .option("--json", "print the sandbox as JSON")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/pause.js")).runResumeCommand(sandboxId, options, notices)),
    );

  program
    .command("fork")
    .description("make copies of a running sandbox and print their ids")
    .argument("<sandbox-id>")
    .option("--count <number>", "copies to make", parseWholeNumber)
    .option("--timeout <seconds>", "life of each copy", parseWholeNumber)
    .option("--json", "print ids, errors and whether the copies have the memory as JSON")
    .action(async (sandboxId, options) => setExitCode(await (await import("./commands/fork.js")).runForkCommand(sandboxId, options)));

  program
    .command("metrics")
    .description("show what a sandbox used over time")
    .argument("<sandbox-id>")
    .option("--minutes <number>", "only the last minutes", parseWholeNumber)
    .option("--json", "print a JSON array")
    .action(async (sandboxId, options) => setExitCode(await (await import("./commands/metrics.js")).runMetricsCommand(sandboxId, options)));

  program
    .command("events")
    .description("follow what happens to sandboxes; one JSON object per line")
    .argument("[sandbox-id]")
    .option("--after <event-id>", "begin behind this event; 0 begins with the oldest")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/events.js")).runEventsCommand(sandboxId, options, outputClosed)),
    );

  addSnapshotCommands(program, setExitCode);
}

function addSnapshotCommands(program: Command, setExitCode: (code: number) => void): void {
  const snapshot = program.command("snapshot").description("keep the files of sandboxes and start others from them");
  snapshot
    .command("create")
    .description("keep the files of a running sandbox and print the id for `abx create`")
    .argument("<sandbox-id>")
    .option("--name <name[:tag]>", "name to find it by")
    .option("--json", "print it as JSON")
    .action(async (sandboxId, options) =>
      setExitCode(await (await import("./commands/snapshot.js")).runSnapshotCreate(sandboxId, options)),
    );

  snapshot
    .command("list")
    .alias("ls")
    .description("list snapshots, newest first")
    .option("--sandbox <sandbox-id>", "only those of this sandbox")
    .option("--json", "print a JSON array")
    .action(async (options) => setExitCode(await (await import("./commands/snapshot.js")).runSnapshotList(options)));

  snapshot
    .command("delete")
    .description("delete a snapshot; sandboxes that were made from it stay")
    .argument("<snapshot-id>")
    .option("--json", "print whether there was one as JSON")
    .action(async (snapshotId, options) =>
      setExitCode(await (await import("./commands/snapshot.js")).runSnapshotDelete(snapshotId, options)),
    );
}
