import { SandboxError } from "../../errors/sandbox-error.js";
import { Sandbox } from "../../sandbox/sandbox.js";
import { untilAborted } from "../../shared/until-aborted.js";
import type { ConnectionOptions } from "./sandbox-types.js";

/** What a set-up has to be done for, and how. */
export interface Preparation {
  /** Template below it. */
  readonly template: string;
  /** Names the set-up: another one has another name. */
  readonly identity: string;
  /** Make a sandbox in which the set-up is done. The caller kills it. */
  readonly make: () => Promise<Sandbox>;
  readonly setUp: (sandbox: Sandbox) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

/** Reasons of servers that have no snapshots. */
const WITHOUT_SNAPSHOTS: readonly string[] = ["unimplemented", "method_not_allowed", "not_found"];

/**
 * Snapshots of sandboxes in which a set-up was done, found by a name that follows from it. Whoever asks while one is made waits for it; other
 * programs may make it at the same time, and the newest keeps the name.
 */
export class PreparedSnapshots {
  readonly #connection: ConnectionOptions;
  readonly #ask: <T>(action: () => Promise<T>) => Promise<T>;
  readonly #making = new Map<string, Promise<unknown>>();

  /** @param ask makes a call of the platform, and tells its errors as the provider does */
  constructor(connection: ConnectionOptions, ask: <T>(action: () => Promise<T>) => Promise<T>) {
    this.#connection = connection;
    this.#ask = ask;
  }

  /** The snapshot, which is made when there is none; `undefined` where the server has no snapshots, and then nothing was done. */
  async get(preparation: Preparation): Promise<string | undefined> {
    const name = await toSnapshotName(preparation);
    for (let making = this.#making.get(name); making !== undefined; making = this.#making.get(name)) {
      await untilAborted(making, preparation.signal);
    }
    const work = this.#findOrMake(name, preparation);
    const settled = work.catch(() => undefined).finally(() => this.#making.delete(name));
    this.#making.set(name, settled);
    return work;
  }

  async #findOrMake(name: string, { make, setUp, signal }: Preparation): Promise<string | undefined> {
    const found = await this.#ask(() =>
      orUnsupported(Sandbox.listSnapshots({ ...this.#connection, name, limit: 1 }).nextItems({ signal })),
    );
    if (found === undefined) return undefined;
    if (found[0] !== undefined) return found[0].snapshotId;
    const sandbox = await make();
    try {
      await setUp(sandbox);
      return (await sandbox.createSnapshot({ name, signal })).snapshotId;
    } finally {
      await sandbox.kill().catch(() => undefined);
    }
  }
}

async function orUnsupported<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (SandboxError.isInstance(error) && WITHOUT_SNAPSHOTS.includes(error.reason)) return undefined;
    throw error;
  }
}

/** Of a fixed form, whatever characters template and identity have. */
async function toSnapshotName({ template, identity }: Preparation): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify([template, identity])));
  return `ai-sdk-${Array.from(new Uint8Array(digest, 0, 12), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
