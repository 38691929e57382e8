import { constants } from "node:os";
import type { ManagedProcess } from "../../daemon/process/managed-process.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { optionalText, requiredText } from "../fields.js";
import { exitCodeOf } from "../programs.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";
import { toWords } from "./shell.js";

interface Background {
  readonly process: ManagedProcess;
  readonly command: string;
  /** Seconds since 1970. */
  readonly startedAt: number;
}

const MAX_RUNNING = 100;
const MAX_ENDED = 100;
const ALLOWED_SIGNALS = (["SIGINT", "SIGKILL", "SIGTERM", "SIGCONT", "SIGTSTP"] as const).map((name) => ({
  name,
  number: constants.signals[name],
}));

/** Programs in the background. */
export function createProcessHandlers({
  programs,
}: ServerServices): Pick<RouteHandlers, "startProcess" | "listProcesses" | "getProcess" | "signalProcess"> {
  const known = new Map<number, Background>();
  let starting = 0;
  const isRunning = ({ process }: Background) => process.exit === undefined;
  const find = (text: string): Background => {
    const found = known.get(toPid(text));
    if (found === undefined) throw new RouteFailure(404, "NotFoundError", `process ${text} was not started here`, "process_not_found");
    return found;
  };
  const describe = (background: Background) => ({
    pid: background.process.pid,
    command: background.command,
    state: isRunning(background) ? ("running" as const) : ("exited" as const),
    started_at: background.startedAt,
  });
  return {
    startProcess: async ({ body }) => {
      const command = requiredText(body, "command");
      const spec = { words: toWords(body), cwd: optionalText(body, "cwd") || undefined };
      if ([...known.values()].filter(isRunning).length + starting >= MAX_RUNNING) {
        throw new RouteFailure(429, "ResourceError", `${MAX_RUNNING} processes run already; end some first`, "rate_limited");
      }
      starting += 1;
      try {
        const process = await programs.start(spec);
        known.delete(process.pid);
        known.set(process.pid, { process, command, startedAt: Date.now() / 1000 });
        return { pid: process.pid, command };
      } finally {
        starting -= 1;
      }
    },
    listProcesses: () => {
      const ended = [...known.values()].filter((background) => !isRunning(background));
      for (const { process } of ended.slice(0, -MAX_ENDED)) known.delete(process.pid);
      return { processes: [...known.values()].map(describe) };
    },
    getProcess: ({ params }) => {
      const background = find(params.pid ?? "");
      return { ...describe(background), exit_code: isRunning(background) ? null : exitCodeOf(background.process) };
    },
    signalProcess: ({ params, body }) => {
      const pid = toPid(params.pid ?? "");
      const signal = ALLOWED_SIGNALS.find(({ number }) => number === body.signal);
      if (signal === undefined) {
        throw new InvalidArgumentError(
          `'signal' must be one of ${ALLOWED_SIGNALS.map(({ number, name }) => `${number} (${name})`).join(", ")}`,
        );
      }
      if (pid === 1 || pid === process.pid) {
        throw new RouteFailure(403, "PermissionError", `process ${pid} is not for callers to signal`, "permission_denied");
      }
      find(params.pid ?? "").process.signal(signal.name);
      return { pid, signal: signal.number };
    },
  };
}

function toPid(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError("the pid must be a whole number");
  return Number(text);
}
