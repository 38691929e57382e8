import { InvalidArgumentError } from "../errors/error-classes.js";
import type { MetricsRange } from "../protocol/record-client.js";
import type { SandboxEvent, SandboxLogEntry, SandboxLogQuery, SandboxMetrics, SnapshotInfo } from "../protocol/state-types.js";
import { pickRequest } from "../shared/pick-request.js";
import { assertText } from "../shared/text-check.js";
import { type ConnectionOptions, type RequestOptions, resolveConfig } from "../transport/config.js";
import { openPlatform, type SandboxParts } from "./open-sandbox.js";
import { checkSandboxId } from "./options.js";
import { Paginator } from "./paginator.js";

/** How a sandbox is paused. */
export interface PauseOptions {
  /** False ends its processes and keeps only its files; a later connect starts it anew. @defaultValue true */
  readonly keepMemory?: boolean | undefined;
}

/** How a snapshot is made. */
export interface SnapshotOptions {
  /** Name, optionally followed by `:tag`; an older snapshot with both loses them. @defaultValue none */
  readonly name?: string | undefined;
}

/** Which snapshots are listed, and how. */
export interface SnapshotListOptions {
  /** Only those of this sandbox, which may be gone. */
  readonly sandboxId?: string | undefined;
  /** Only those with this name or id, optionally with `:tag`. */
  readonly name?: string | undefined;
  /** Snapshots per page, 1 to 100. @defaultValue 100 */
  readonly limit?: number | undefined;
  /** Where an earlier list with the same filters stopped. */
  readonly nextToken?: string | undefined;
}

/** Which events are followed. */
export interface EventOptions {
  /** Begin behind the event with this id. @defaultValue now */
  readonly after?: string | undefined;
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A list of snapshots, loaded page by page. */
export type SnapshotPaginator = Paginator<SnapshotInfo>;

/** What can be done with a sandbox as a whole beside starting and ending it: setting it aside, keeping its files, looking at its past. */
export abstract class SandboxStates {
  abstract readonly sandboxId: string;
  readonly #platform: SandboxParts["platform"];

  constructor(parts: SandboxParts) {
    this.#platform = parts.platform;
  }

  /** Pause a sandbox by id; see {@link SandboxStates.pause}. */
  static async pause(sandboxId: string, options: ConnectionOptions & PauseOptions = {}): Promise<boolean> {
    checkSandboxId(sandboxId);
    return (await openPlatform(options)).states.pause(sandboxId, options.keepMemory, pickRequest(options));
  }

  /** Keep the files of a running sandbox; see {@link SandboxStates.createSnapshot}. */
  static async createSnapshot(sandboxId: string, options: ConnectionOptions & SnapshotOptions = {}): Promise<SnapshotInfo> {
    checkSandboxId(sandboxId);
    return (await openPlatform(options)).states.createSnapshot(sandboxId, options.name, pickRequest(options));
  }

  /** List snapshots, newest first. Nothing is asked before the first page is. */
  static listSnapshots(options: ConnectionOptions & SnapshotListOptions = {}): SnapshotPaginator {
    checkPageLimit(options.limit);
    // A wrong setting is told here and not at the first page.
    resolveConfig(options);
    return new Paginator(async (nextToken, call) => {
      const { sandboxId, name, limit } = options;
      const request = { ...pickRequest(options), ...call };
      const { states } = await openPlatform({ ...options, ...request });
      return states.listSnapshots({ sandboxId, name, limit, nextToken, ...request });
    }, options.nextToken);
  }

  /** Delete a snapshot; sandboxes that were made from it stay. False when there is none. */
  static async deleteSnapshot(snapshotId: string, options: ConnectionOptions = {}): Promise<boolean> {
    assertText("snapshotId", snapshotId);
    if (snapshotId === "") throw new InvalidArgumentError("snapshotId must not be empty");
    return (await openPlatform(options)).states.deleteSnapshot(snapshotId, pickRequest(options));
  }

  /** What a sandbox used over time; see {@link SandboxStates.getMetrics}. */
  static async getMetrics(sandboxId: string, options: ConnectionOptions & MetricsRange = {}): Promise<readonly SandboxMetrics[]> {
    checkSandboxId(sandboxId);
    return (await openPlatform(options)).records.metrics(sandboxId, options, pickRequest(options));
  }

  /** What the platform wrote down about a sandbox; see {@link SandboxStates.getLogs}. */
  static async getLogs(sandboxId: string, options: ConnectionOptions & SandboxLogQuery = {}): Promise<readonly SandboxLogEntry[]> {
    checkSandboxId(sandboxId);
    return (await openPlatform(options)).records.logs(sandboxId, options, pickRequest(options));
  }

  /** Follow what happens to all sandboxes. Our platform only. */
  static async *events(options: ConnectionOptions & EventOptions = {}): AsyncGenerator<SandboxEvent, void, undefined> {
    const { records } = await openPlatform(options);
    yield* records.events({ after: options.after }, pickRequest(options));
  }

  /**
   * Set the sandbox aside: its processes stand still, its time too, and it answers nobody until it is connected to. False when it was paused
   * already.
   */
  async pause(options: RequestOptions & PauseOptions = {}): Promise<boolean> {
    return this.#platform.states.pause(this.sandboxId, options.keepMemory, pickRequest(options));
  }

  /** Keep the files as they are now, as a template for further sandboxes. It stands still for a moment; connections stay open. */
  async createSnapshot(options: RequestOptions & SnapshotOptions = {}): Promise<SnapshotInfo> {
    return this.#platform.states.createSnapshot(this.sandboxId, options.name, pickRequest(options));
  }

  /** List its snapshots, newest first. */
  listSnapshots(options: RequestOptions & Omit<SnapshotListOptions, "sandboxId"> = {}): SnapshotPaginator {
    checkPageLimit(options.limit);
    const { name, limit } = options;
    return new Paginator(
      (nextToken, call) =>
        this.#platform.states.listSnapshots({ sandboxId: this.sandboxId, name, limit, nextToken, ...pickRequest(options), ...call }),
      options.nextToken,
    );
  }

  /** What it used over time, oldest first; one sample about every 5 seconds. Empty when there is none in the range. */
  async getMetrics(options: RequestOptions & MetricsRange = {}): Promise<readonly SandboxMetrics[]> {
    return this.#platform.records.metrics(this.sandboxId, options, pickRequest(options));
  }

  /** What the platform wrote down about it. The local platform also tells of sandboxes that ended, and how, until newer lines need the room. */
  async getLogs(options: RequestOptions & SandboxLogQuery = {}): Promise<readonly SandboxLogEntry[]> {
    return this.#platform.records.logs(this.sandboxId, options, pickRequest(options));
  }

  /**
   * Follow what happens to it, until it ends; after its end, what is kept of it behind `after`. Our platform only.
   *
   * @throws {@link SandboxNotFoundError} it has ended, and nothing is kept behind `after`.
   */
  events(options: RequestOptions & EventOptions = {}): AsyncGenerator<SandboxEvent, void, undefined> {
    return this.#platform.records.events({ sandboxId: this.sandboxId, after: options.after }, pickRequest(options));
  }
}

function checkPageLimit(limit: number | undefined): void {
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 1 || limit > 100)) {
    throw new InvalidArgumentError(`limit must be a whole number between 1 and 100, not ${String(limit)}`);
  }
}
