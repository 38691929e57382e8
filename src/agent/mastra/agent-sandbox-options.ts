import type { InstructionsOption, MastraSandboxOptions } from "@mastra/core/workspace";
import type { Sandbox, SandboxCreateOptions } from "../../sandbox/sandbox.js";

/** How an {@link AgentSandbox} finds its sandbox, or makes it. */
export interface AgentSandboxOptions extends Omit<MastraSandboxOptions, "processes"> {
  /**
   * Name of the sandbox for your program: `start()` finds the one that an earlier run made under this name, running or paused, and makes one
   * where there is none. At the end of its life it is paused, unless `create.lifecycle` says otherwise.
   *
   * @defaultValue a random one, so each object has a new sandbox
   */
  readonly id?: string | undefined;
  /** Join this sandbox instead; it is an error when there is none. */
  readonly sandboxId?: string | undefined;
  /** Use this sandbox of yours; it is never paused, killed or prolonged. */
  readonly sandbox?: Sandbox | undefined;
  /** How the platform is reached and how sandboxes are made. Their `timeoutMs` is counted anew with each use. */
  readonly create?: Omit<SandboxCreateOptions, "signal"> | undefined;
  /** Name of the snapshot that `snapshot()` writes, and that a new sandbox begins from where it is there. */
  readonly checkpointName?: string | undefined;
  /** Name of a snapshot that a new sandbox begins from where the one of `checkpointName` is not there; it is never written. */
  readonly seedCheckpointName?: string | undefined;
  /** What agents are told about the sandbox, or how the usual words are changed. */
  readonly instructions?: InstructionsOption | undefined;
}
