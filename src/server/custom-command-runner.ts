import type { ArgumentValue } from "../shared/command-arguments.js";
import type { CommandContext } from "../shared/command-definition.js";
import { type CustomCommand, toShellLine } from "../shared/custom-commands.js";
import type { Programs } from "./programs.js";
import { RouteFailure } from "./route-failure.js";

/** Run a command of template.yaml, as one that resolves to how its program ended. */
export function createCustomCommandRunner(command: CustomCommand, programs: Programs) {
  return async (values: Readonly<Record<string, ArgumentValue>>, { signal }: CommandContext): Promise<object> => {
    const { cwd, envs, timeoutMs } = command;
    const words = ["/bin/bash", "-c", toShellLine(command, values)];
    const { stdout, stderr, exitCode, isTimedOut, isTruncated } = await programs.run({ words, cwd, envs, timeoutMs }, signal);
    if (isTimedOut)
      throw new RouteFailure(500, "TimeoutError", `command '${command.name}' was killed after ${timeoutMs / 1000} s`, "timeout");
    return { stdout, stderr, exit_code: exitCode, ...(isTruncated && { truncated: true }) };
  };
}
