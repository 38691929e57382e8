import { InvalidArgumentError } from "../../errors/error-classes.js";
import { messageOf } from "../../shared/message-of.js";
import { splitShellWords } from "../../shared/shell-split.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { type Fields, optionalText, positiveOr, requiredText } from "../fields.js";
import { LineSplitter } from "../line-splitter.js";
import { exitCodeOf, followOutput, killQuietly, type ProgramSpec, type Programs } from "../programs.js";
import { ServerAnswer, type ServerEvent } from "../route.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 86_400;

/** Programs that are run to their end. */
export function createShellHandlers({ programs }: ServerServices): Pick<RouteHandlers, "runShell" | "streamShell"> {
  return {
    runShell: async ({ body, signal }) => {
      const end = await programs.run({ words: toWords(body), timeoutMs: TIMEOUT_SECONDS * 1000 }, signal);
      if (end.isTimedOut) throw new RouteFailure(500, "TimeoutError", `the command was killed after ${TIMEOUT_SECONDS} s`, "timeout");
      return { stdout: end.stdout, stderr: end.stderr, exit_code: end.exitCode, ...(end.isTruncated && { truncated: true }) };
    },
    streamShell: ({ body, signal }) => {
      const timeoutMs = positiveOr(TIMEOUT_SECONDS, body.timeout, MAX_TIMEOUT_SECONDS) * 1000;
      const spec = { words: toWords(body), cwd: optionalText(body, "cwd") || undefined, timeoutMs };
      return ServerAnswer.events(follow(programs, spec, signal));
    },
  };
}

/** @throws {@link InvalidArgumentError} there is no command, or a quote of it is not closed. */
export function toWords(body: Fields): readonly string[] {
  const words = splitShellWords(requiredText(body, "command"));
  if (words.length === 0) throw new InvalidArgumentError("'command' has no words");
  return words;
}

async function* follow(programs: Programs, spec: ProgramSpec, signal: AbortSignal): AsyncGenerator<ServerEvent, void, undefined> {
  let program: Awaited<ReturnType<Programs["start"]>>;
  try {
    program = await programs.start(spec);
  } catch (error) {
    yield { event: "error", data: { error: messageOf(error) } };
    return;
  }
  const lines = { stdout: new LineSplitter(), stderr: new LineSplitter() };
  try {
    for await (const { kind, parts } of followOutput(program, signal)) {
      if (kind === "pty") continue;
      for (const part of parts) for (const data of lines[kind].add(part)) yield { event: kind, data: { data } };
    }
    for (const kind of ["stdout", "stderr"] as const) for (const data of lines[kind].rest()) yield { event: kind, data: { data } };
    if (program.isTimedOut) yield { event: "error", data: { error: "timeout" } };
    yield { event: "exit", data: { exit_code: exitCodeOf(program) } };
  } finally {
    killQuietly(program);
  }
}
