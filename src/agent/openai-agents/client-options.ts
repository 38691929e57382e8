import type { SandboxArchiveLimits, SnapshotSpec } from "@openai/agents-core/sandbox";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { SandboxCreateOptions } from "../../sandbox/sandbox.js";
import { DEFAULT_LIFE_MS } from "../sandbox-life.js";

/** How the archive of a workspace is kept: its files, or a snapshot of the whole sandbox that the archive only names. */
export type WorkspacePersistence = "archive" | "snapshot";

/** How an {@link AgentSandboxClient} makes sandboxes, and what its sessions do. */
export interface AgentSandboxClientSettings extends Omit<SandboxCreateOptions, "signal"> {
  /** Pause the sandbox at the end of a session instead of killing it, so that the state of the session can be resumed. @defaultValue false */
  readonly pauseOnExit?: boolean | undefined;
  /** Ports that `resolveExposedPort` gives. @defaultValue every port */
  readonly exposedPorts?: readonly number[] | undefined;
  /** What `persistWorkspace` gives. @defaultValue "archive", a tar archive of the files of the workspace */
  readonly workspacePersistence?: WorkspacePersistence | undefined;
  /** What is kept of a session whenever its state is serialised. @defaultValue nothing */
  readonly snapshot?: SnapshotSpec | undefined;
  /** What `hydrateWorkspace` takes at most. @defaultValue no limits */
  readonly archiveLimits?: SandboxArchiveLimits | null | undefined;
  /** Shell of commands that name none. @defaultValue "/bin/bash" */
  readonly shell?: string | undefined;
  /** Directory of this machine that entries of the kinds `local_file` and `local_dir` begin in. @defaultValue the working directory */
  readonly localSourceDir?: string | undefined;
}

/** The settings as the framework takes options: an object with any members. */
export type AgentSandboxClientOptions = { readonly [K in keyof AgentSandboxClientSettings]: AgentSandboxClientSettings[K] };

/** Those of a session, over those of its client; what is `undefined` counts as left out. */
export function mergeOptions(base: AgentSandboxClientOptions, more: AgentSandboxClientOptions | undefined): AgentSandboxClientOptions {
  const given = Object.entries(more ?? {}).filter(([, value]) => value !== undefined);
  const options: AgentSandboxClientOptions = { ...base, ...Object.fromEntries(given) };
  const { workspacePersistence } = options;
  if (workspacePersistence !== undefined && workspacePersistence !== "archive" && workspacePersistence !== "snapshot") {
    throw new InvalidArgumentError(`workspacePersistence must be "archive" or "snapshot", not ${JSON.stringify(workspacePersistence)}`);
  }
  return options;
}

/** Milliseconds of life that each use gives the sandbox of a session. */
export function lifeMsOf(options: AgentSandboxClientOptions): number {
  return options.timeoutMs ?? DEFAULT_LIFE_MS;
}

/** What calls of `Sandbox` take of the options. */
export function toCreateOptions(options: AgentSandboxClientOptions): SandboxCreateOptions {
  const { pauseOnExit, exposedPorts, workspacePersistence, snapshot, archiveLimits, shell, localSourceDir, ...create } = options;
  return { ...create, timeoutMs: lifeMsOf(options) };
}
