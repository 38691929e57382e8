import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { BuildStep } from "./build-step.js";
import type { TemplateStart } from "./template-store.js";

/** What earlier steps decided for the next one. */
export interface BuildContext {
  readonly envs: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  /** Hash of everything that led here. */
  readonly key: string;
}

const DEFAULT_USER = "user";
const DEFAULT_WORKDIR = "/home/user";

/** Where the steps begin: on a base with a key of its own. */
export function startContext(baseKey: string, start: TemplateStart | undefined): BuildContext {
  return {
    envs: start?.envs ?? {},
    user: start?.user ?? DEFAULT_USER,
    workdir: start?.workdir ?? DEFAULT_WORKDIR,
    key: baseKey,
  };
}

/** The context after a step. */
export function afterStep(context: BuildContext, step: BuildStep): BuildContext {
  const { isForced: _, ...content } = step;
  const { envs, user, workdir } = context;
  const key = createHash("sha256")
    .update(JSON.stringify([context.key, envs, user, workdir, content]))
    .digest("hex");
  switch (step.type) {
    case "ENV":
      return { ...context, envs: { ...envs, ...step.envs }, key };
    case "USER":
      return { ...context, user: step.name, key };
    case "WORKDIR":
      return { ...context, workdir: posix.resolve(workdir, step.path), key };
    default:
      return { ...context, key };
  }
}

/** What sandboxes start with after the last step. */
export function toTemplateStart(
  { envs, user, workdir }: BuildContext,
  commands: { readonly startCommand: string | undefined; readonly readyCommand: string | undefined },
): TemplateStart {
  return {
    envs,
    user,
    workdir,
    ...(commands.startCommand !== undefined && { startCommand: commands.startCommand }),
    ...(commands.readyCommand !== undefined && { readyCommand: commands.readyCommand }),
  };
}
