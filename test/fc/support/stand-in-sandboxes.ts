import { randomUUID } from "node:crypto";
import type { Reply, SeenRequest } from "./stand-in.js";

interface Sandbox {
  readonly id: string;
  readonly templateId: string;
  readonly token: string;
  readonly trafficToken: string | undefined;
  readonly metadata: Record<string, string>;
  readonly startedAt: Date;
  endAt: Date;
  state: string;
  /** Questions about it that are still answered as if it did not exist. */
  lag: number;
  mounts: number;
}

interface CreateBody {
  readonly templateID: string;
  readonly timeout?: number;
  readonly metadata?: Record<string, string>;
  readonly network?: { readonly allowPublicTraffic?: boolean };
}

/** The E2B-compatible API as it was recorded: fields are missing, new sandboxes are unknown for a while, and deleting answers 202. */
export class StandInSandboxes {
  readonly #all = new Map<string, Sandbox>();
  readonly #isKey: (key: string) => boolean;
  /** How often a new sandbox is still unknown, to lists and to questions each. */
  lag = 0;
  readonly deletedTemplates: string[] = [];

  constructor(isKey: (key: string) => boolean) {
    this.#isKey = isKey;
  }

  isRunning(id: string): boolean {
    return this.#all.get(id)?.state === "running";
  }

  tokenOf(id: string): string | undefined {
    return this.#all.get(id)?.token;
  }

  answer({ method, path, headers, body }: SeenRequest): Reply {
    if (!this.#isKey(String(headers["x-api-key"]))) return failure(401, "invalid api key");
    const { pathname, searchParams } = new URL(path, "http://x");
    const json = (body === "" ? {} : JSON.parse(body)) as unknown;
    if (method === "POST" && pathname === "/sandboxes") return this.#create(json as CreateBody);
    if (method === "GET" && pathname === "/v2/sandboxes") return this.#list(searchParams);
    if (method === "DELETE" && pathname.startsWith("/templates/")) {
      this.deletedTemplates.push(decodeURIComponent(pathname.slice("/templates/".length)));
      return { status: 204 };
    }
    const [, id = "", verb] = /^\/sandboxes\/([^/]+)(?:\/([\w-]+))?$/.exec(pathname) ?? [];
    if (id === "") return failure(404, "no such route");
    const sandbox = this.#all.get(id);
    if (sandbox === undefined || sandbox.lag-- > 0) return failure(404, `sandbox ${id} not found`);
    return this.#onSandbox(sandbox, `${method} ${verb ?? ""}`.trim(), json as Record<string, unknown>);
  }

  #create({ templateID, timeout = 0, metadata = {}, network }: CreateBody): Reply {
    if (timeout < 0) return failure(400, "timeout must not be negative");
    const lifeSeconds = timeout === 0 ? 300 : Math.max(60, timeout);
    const id = metadata["fc.sandbox.id"] ?? `sbx-${randomUUID()}`;
    const startedAt = new Date();
    const trafficToken = network?.allowPublicTraffic === false ? randomUUID() : undefined;
    const endAt = new Date(startedAt.getTime() + lifeSeconds * 1000);
    const fresh = { id, templateId: templateID, token: randomUUID(), trafficToken, startedAt, endAt, state: "running", mounts: 0 };
    this.#all.set(id, { ...fresh, metadata: { ...metadata, functionName: "f", instanceID: "i" }, lag: this.lag });
    return { status: 201, body: this.#access(this.#get(id)) };
  }

  #list(query: URLSearchParams): Reply {
    const states = query.getAll("state");
    if (states.some((state) => state.includes(","))) return failure(400, "state is repeated, not joined");
    const known = [...this.#all.values()].filter(
      (sandbox) => sandbox.lag-- <= 0 && (states.length === 0 || states.includes(sandbox.state)),
    );
    return { status: 200, body: known.map(toDetail) };
  }

  #onSandbox(sandbox: Sandbox, call: string, body: Record<string, unknown>): Reply {
    switch (call) {
      case "GET":
        return { status: 200, body: toDetail(sandbox) };
      case "DELETE":
        this.#all.delete(sandbox.id);
        return { status: 202 };
      case "POST timeout":
        if (Number(body.timeout) <= 0) return failure(400, "timeout must be positive");
        sandbox.endAt = new Date(Date.now() + Number(body.timeout) * 1000);
        return { status: 204 };
      case "POST pause":
        sandbox.state = "paused";
        return { status: 204 };
      case "POST connect": {
        const wasPaused = sandbox.state === "paused";
        sandbox.state = "running";
        return { status: wasPaused ? 201 : 200, body: this.#access(sandbox) };
      }
      case "POST snapshots":
        return { status: 201, body: { snapshotID: randomUUID(), names: body.name === undefined ? [] : [`team/${body.name}`] } };
      case "POST fc-volume-mounts":
        return this.#mount(sandbox, body);
      default:
        return failure(404, "no such route");
    }
  }

  #mount(sandbox: Sandbox, { inlineVolumeMounts }: { readonly inlineVolumeMounts?: Record<string, { mountPoints: unknown[] }> }): Reply {
    const wanted = Object.values(inlineVolumeMounts ?? {}).flatMap(({ mountPoints }) => mountPoints);
    if (wanted.length > 0 && sandbox.metadata["fc.sandbox.auth.role"] === undefined) return failure(409, "the sandbox has no role");
    if (sandbox.mounts + wanted.length > 5) return failure(400, "too many mounts");
    sandbox.mounts += wanted.length;
    return { status: 204 };
  }

  #get(id: string): Sandbox {
    const sandbox = this.#all.get(id);
    if (sandbox === undefined) throw new Error(`the stand-in has no ${id}`);
    return sandbox;
  }

  /** No URL, no state and no times: that is all the service tells. */
  #access({ id, templateId, token, trafficToken }: Sandbox): object {
    const named = { templateID: templateId, alias: templateId, clientID: "c", accountID: "a", userID: "u" };
    return { ...named, sandboxID: id, envdVersion: "0.5.2", envdAccessToken: token, trafficAccessToken: trafficToken };
  }
}

function toDetail({ id, templateId, startedAt, endAt, state, metadata }: Sandbox): object {
  const sizes = { cpuCount: 2, memoryMB: 2048, diskSizeMB: 10_240 };
  return { sandboxID: id, templateID: templateId, clientID: "c", envdVersion: "0.5.2", startedAt, endAt, state, metadata, ...sizes };
}

function failure(code: number, message: string): Reply {
  return { status: code, body: { code, message } };
}
