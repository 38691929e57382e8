import { stripVTControlCharacters } from "node:util";
import { type LogEntry, Template } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut } from "../output.js";
import { openTemplateDirectory } from "../template-directory.js";

export interface TemplateBuildCommandOptions {
  readonly path: string;
  readonly dockerfile?: string;
  readonly cmd?: string;
  readonly readyCmd?: string;
  readonly cpuCount?: number;
  readonly memoryMb?: number;
  readonly tag?: readonly string[];
  readonly buildArg?: Readonly<Record<string, string>>;
  readonly cache: boolean;
  readonly json?: boolean;
}

/** `abx template build`: an option counts before template.yaml, and that before the Dockerfile. */
export async function runTemplateBuildCommand(
  name: string | undefined,
  options: TemplateBuildCommandOptions,
  notices: Notices,
): Promise<ExitCode> {
  const { root, name: wanted, dockerfile, yaml } = openTemplateDirectory(name, options);

  const template = Template({ fileContextPath: root }).fromDockerfile(dockerfile, options.buildArg ? { buildArgs: options.buildArg } : {});
  if (yaml !== undefined) template.setEnvs(yaml.envs);
  if (Object.keys(yaml?.customCommands ?? {}).length > 0) template.setCustomCommands(yaml?.customCommands ?? {});
  const startCommand = options.cmd ?? yaml?.startCommand;
  const readyCommand = options.readyCmd ?? yaml?.readyCommand;
  if (startCommand !== undefined) template.setStartCmd(startCommand);
  if (readyCommand !== undefined) template.setReadyCmd(readyCommand);

  const tags = options.tag ?? yaml?.tags ?? [];
  const build = await Template.build(template, wanted, {
    ...(tags.length > 0 && { tags }),
    cpuCount: options.cpuCount ?? yaml?.cpuCount,
    memoryMB: options.memoryMb ?? yaml?.memoryMB,
    skipCache: !options.cache,
    onBuildLogs: (entry: LogEntry) => void notices.tell(stripVTControlCharacters(entry.message)),
  });
  if (options.json) await writeJson(build);
  else await writeOut(`${build.templateId}\n`);
  return EXIT.ok;
}
