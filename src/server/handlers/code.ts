import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { oneOf, positiveOr, requiredText } from "../fields.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const TIMEOUT_SECONDS = 30;
const MAX_TIMEOUT_SECONDS = 300;
const LANGUAGES = ["python", "node", "bash"] as const;
const WORDS = { python: ["python3", "-c"], bash: ["bash", "-c"] } as const;

/** Pieces of code. */
export function createCodeHandler({ programs }: ServerServices): Pick<RouteHandlers, "runCode"> {
  return {
    runCode: async ({ body, signal }) => {
      const language = oneOf(body.language, "language", LANGUAGES, "python");
      const code = requiredText(body, "code");
      const timeoutSeconds = positiveOr(TIMEOUT_SECONDS, body.timeout, MAX_TIMEOUT_SECONDS);
      // The server is a Node itself, so there always is one.
      const words = language === "node" ? [process.execPath, "-e"] : WORDS[language];
      const startedAt = performance.now();
      const end = await programs.run({ words: [...words, code], timeoutMs: timeoutSeconds * 1000 }, signal).catch((error: unknown) => {
        if (error instanceof InvalidArgumentError && error.message.includes("not found")) {
          throw new RouteFailure(500, "FileNotFoundError", error.message, "failed_precondition");
        }
        throw error;
      });
      if (end.isTimedOut) throw new RouteFailure(408, "TimeoutError", `the code was killed after ${timeoutSeconds} s`, "timeout");
      return {
        stdout: end.stdout,
        stderr: end.stderr,
        exit_code: end.exitCode,
        ...(end.isTruncated && { truncated: true }),
        language,
        execution_time_ms: Math.round((performance.now() - startedAt) * 10) / 10,
      };
    },
  };
}
