import { InvalidArgumentError, SandboxNotFoundError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { pause } from "../shared/pause.js";
import type { RequestOptions } from "../transport/config.js";
import type { LifecycleClient } from "./lifecycle-client.js";
import type { NewSandboxSpec } from "./lifecycle-types.js";

/** Shortest life: the service raises a shorter one without saying so. */
const MIN_LIFE_MS = 60_000;
/** A first start in a region pulls the image, which takes up to 90 seconds. */
const CREATE_TIMEOUT_MS = 180_000;
/** A new sandbox may be unknown to the service for about two seconds. */
const LAG_MS = 5_000;
const LAG_PAUSE_MS = 250;

/**
 * A lifecycle client with the rules of the FC service: lives of a minute at least, time for a cold start, and patience with a sandbox that
 * was made a moment ago.
 */
export function withFcLifecycle(client: LifecycleClient, fresh: Map<string, number>): LifecycleClient {
  /** Ask again while the service may not know the sandbox yet. */
  async function settled<T>(
    sandboxId: string,
    options: RequestOptions,
    isMissing: (answer: T) => boolean,
    ask: () => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const mayLag = (fresh.get(sandboxId) ?? 0) > performance.now();
      try {
        const answer = await ask();
        if (!mayLag || !isMissing(answer)) return answer;
      } catch (error) {
        if (!mayLag || !SandboxError.isInstance(error) || error.reason !== "sandbox_not_found") throw error;
      }
      await pause(LAG_PAUSE_MS, options.signal);
    }
  }
  const never = () => false;
  const kill: LifecycleClient["kill"] = async (sandboxId, options) => {
    const isMissing = (isKilled: boolean) => !isKilled;
    const isKilled = await settled(sandboxId, options, isMissing, () => client.kill(sandboxId, options));
    fresh.delete(sandboxId);
    return isKilled;
  };

  return {
    ...client,
    async create(spec, options) {
      checkSpec(spec);
      const timeoutMs = spec.timeoutMs === undefined ? undefined : Math.max(MIN_LIFE_MS, spec.timeoutMs);
      const requestTimeoutMs = options.requestTimeoutMs ?? CREATE_TIMEOUT_MS;
      const access = await client.create({ ...spec, timeoutMs }, { ...options, requestTimeoutMs });
      for (const [known, untilMs] of fresh) if (untilMs <= performance.now()) fresh.delete(known);
      fresh.set(access.sandboxId, performance.now() + LAG_MS);
      return access;
    },
    connect: (sandboxId, spec, options) => settled(sandboxId, options, never, () => client.connect(sandboxId, spec, options)),
    getInfo: (sandboxId, options) => settled(sandboxId, options, never, () => client.getInfo(sandboxId, options)),
    kill,
    async setTimeout(sandboxId, timeoutMs, options) {
      if (timeoutMs > 0) {
        await settled(sandboxId, options, never, () => client.setTimeout(sandboxId, timeoutMs, options));
        return;
      }
      // The service refuses 0, which ends a sandbox elsewhere.
      if (await kill(sandboxId, options)) return;
      throw new SandboxNotFoundError(`sandbox.setTimeout failed: there is no sandbox ${sandboxId}`, {
        operation: "sandbox.setTimeout",
        sandboxId,
      });
    },
  };
}

/** A template whose name has one `/` is a snapshot, which brings everything that the service lets nobody change. */
function checkSpec({ template, envs, volumeMounts, mounts, metadata }: NewSandboxSpec): void {
  if (mounts !== undefined && mounts.length > 0) {
    throw new UnimplementedError(
      "mounts are directories of this machine, which the FC service cannot reach; use extensions or volumeMounts",
    );
  }
  if (template.split("/").length !== 2) return;
  const refuse = (what: string): never => {
    throw new InvalidArgumentError(`a sandbox from the snapshot ${template} takes no ${what}: it has what the snapshot has`);
  };
  if (Object.keys(envs ?? {}).length > 0) refuse("envs");
  if ((volumeMounts?.length ?? 0) > 0) refuse("volumeMounts");
  const key = Object.keys(metadata ?? {}).find((name) => name.startsWith("fc."));
  if (key !== undefined) refuse(`metadata ${key}`);
}
