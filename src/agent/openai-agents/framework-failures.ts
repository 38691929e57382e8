import { UserError } from "@openai/agents-core";
import { SandboxWorkspaceReadNotFoundError } from "@openai/agents-core/sandbox";
import { SandboxError } from "../../errors/sandbox-error.js";
import { toExecText } from "./exec-text.js";

/** The text of a tool; a failure as a text that says what is wrong, where a model or its sandbox is to blame. */
export async function orFailureText(tool: string, work: () => Promise<string>): Promise<string> {
  const startedAt = performance.now();
  try {
    return await work();
  } catch (error) {
    if (!SandboxError.isInstance(error) && !(error instanceof UserError)) throw error;
    return toExecText({ output: `${tool} failed: ${error.message}`, wallTimeSeconds: (performance.now() - startedAt) / 1000, exitCode: 1 });
  }
}

/** What work gives, with the error of the framework where there is nothing at the path. @throws `SandboxWorkspaceReadNotFoundError` */
export async function orNotFound<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!SandboxError.isInstance(error) || error.reason !== "file_not_found") throw error;
    throw new SandboxWorkspaceReadNotFoundError(`Sandbox path not found: ${path}`, { path });
  }
}
