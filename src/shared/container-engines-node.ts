import { execFile } from "node:child_process";

/** Programs that build, hold and push images, in the order in which they are looked for. */
export const ENGINE_NAMES = ["podman", "buildah", "docker"] as const;

export type EngineName = (typeof ENGINE_NAMES)[number];

const TIMEOUT_MS = 20_000;

/**
 * Whether an engine can be used. docker without its service has a client that answers, so it is asked for the service.
 *
 * @param command path of its program, where it is not looked up in `PATH`
 */
export function engineAnswers(name: EngineName, command: string = name): Promise<boolean> {
  const args = name === "docker" ? ["info", "--format", "{{.ID}}"] : ["--version"];
  return new Promise((resolve) => {
    execFile(command, args, { timeout: TIMEOUT_MS }, (error) => resolve(error === null));
  });
}
