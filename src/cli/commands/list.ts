import { InvalidArgumentError, Sandbox, type SandboxInfo } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut, writeTable } from "../output.js";
import { toSandboxJson } from "../sandbox-view.js";

export interface ListCommandOptions {
  readonly state?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly json?: boolean;
}

/** `abx list`: every page, in one order for the table and for JSON; with `--quiet` the bare ids. */
export async function runListCommand(options: ListCommandOptions, { isQuiet }: Pick<Notices, "isQuiet">): Promise<ExitCode> {
  const infos = await listAll({ state: options.state?.map(toState), metadata: options.metadata });
  if (options.json) {
    await writeJson(infos.map(toSandboxJson));
    return EXIT.ok;
  }
  if (isQuiet) {
    await writeOut(infos.map(({ sandboxId }) => `${sandboxId}\n`).join(""));
    return EXIT.ok;
  }
  const rows = infos.map((info) => [
    info.sandboxId,
    info.name ?? info.templateId,
    info.state,
    info.startedAt.toISOString(),
    info.endAt.toISOString(),
  ]);
  await writeTable(["ID", "TEMPLATE", "STATE", "STARTED", "ENDS"], rows);
  return EXIT.ok;
}

/** All pages of the list, newest first. */
export async function listAll(query: {
  readonly state?: readonly SandboxInfo["state"][] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}): Promise<SandboxInfo[]> {
  const pages = Sandbox.list({ query, order: "desc" });
  const infos: SandboxInfo[] = [];
  while (pages.hasNext) infos.push(...(await pages.nextItems()));
  return infos;
}

function toState(text: string): SandboxInfo["state"] {
  if (text === "running" || text === "paused") return text;
  throw new InvalidArgumentError(`--state must be running or paused, not ${JSON.stringify(text)}`);
}
