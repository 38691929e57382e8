import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { components, operations } from "../../../gen/openapi/volume-content.js";
import {
  AuthenticationError,
  InternalError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
} from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";
import { messageOf } from "../../shared/message-of.js";
import type { Logger } from "../logger.js";
import { allowAnyOrigin, preflightHeaders } from "../rest/cors.js";
import { sendJson } from "../rest/json-answer.js";
import { MAX_BODY_BYTES, readJsonBody } from "../rest/json-body.js";
import type { VolumeStore } from "./volume-store.js";
import { toVolumeError, type VolumeEntry, type VolumeEntryOwner, VolumeTree } from "./volume-tree.js";

const PREFIX = "/volumecontent/";
const MAX_ID = 65_535;
/** Without set-user-id and set-group-id. */
const MAX_MODE = 0o1777;
const MAX_DEPTH = 64;
const DEFAULT_OWNER_ID = 1_000;

type Stat = components["schemas"]["VolumeEntryStat"];

interface ContentRequest {
  readonly tree: VolumeTree;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Answer {
  readonly status: number;
  readonly body?: Stat | readonly Stat[];
}

/** `undefined`: the handler has answered. */
type Handler = (content: ContentRequest) => Promise<Answer | undefined>;

/** One handler per operation of openapi/volume-content.yaml. */
const HANDLERS: Readonly<Record<keyof operations, Handler>> = {
  statVolumeEntry: async ({ tree, path }) => ({ status: 200, body: toStat(tree, await tree.stat(path)) }),
  updateVolumeEntry: async ({ tree, path, request }) => {
    const change = readUpdate(await readJsonBody(request));
    return { status: 200, body: toStat(tree, await tree.update(path, change)) };
  },
  deleteVolumeEntry: async ({ tree, path }) => {
    await tree.remove(path);
    return { status: 204 };
  },
  listVolumeDirectory: async ({ tree, path, query }) => {
    const depth = readNumber(query, "depth", 1, MAX_DEPTH) ?? 1;
    const entries = await tree.list(path, depth);
    return { status: 200, body: entries.map((entry) => toStat(tree, entry)) };
  },
  makeVolumeDirectory: async ({ tree, path, query }) => {
    const entry = await tree.makeDirectory(path, readOwner(query, 0o755), isForced(query));
    return { status: 201, body: toStat(tree, entry) };
  },
  readVolumeFile: async ({ tree, path, response }) => {
    await using handle = await tree.openFile(path);
    const { size } = await handle.stat();
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": String(size) });
    // The length was announced: a file that grows meanwhile is cut there, one that shrinks ends the connection early.
    if (size === 0) response.end();
    else await pipeline(handle.createReadStream({ start: 0, end: size - 1, autoClose: false, highWaterMark: 256 * 1024 }), response);
    return undefined;
  },
  writeVolumeFile: async ({ tree, path, query, request }) => {
    const owner = readOwner(query, 0o644);
    // A request that is destroyed takes the connection along, and with it the answer that says why.
    const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    const entry = await tree.writeFile(path, chunks, owner, isForced(query));
    return { status: 201, body: toStat(tree, entry) };
  },
};

const ROUTES: Readonly<Record<string, Readonly<Record<string, keyof operations>>>> = {
  path: { GET: "statVolumeEntry", PATCH: "updateVolumeEntry", DELETE: "deleteVolumeEntry" },
  dir: { GET: "listVolumeDirectory", POST: "makeVolumeDirectory" },
  file: { GET: "readVolumeFile", PUT: "writeVolumeFile" },
};

export interface VolumeContentParts {
  readonly volumes: Pick<VolumeStore, "get" | "isTokenOf">;
  readonly hostIdBase: number;
  readonly logger: Logger;
}

/** Serves the files of volumes. */
export class VolumeContentServer {
  readonly #parts: VolumeContentParts;

  constructor(parts: VolumeContentParts) {
    this.#parts = parts;
  }

  /** True for a request target that this server answers. */
  serves(target: string): boolean {
    return target.startsWith(PREFIX);
  }

  /** Answer one request; never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    allowAnyOrigin(response);
    if (request.method === "OPTIONS") {
      sendJson(response, 204, undefined, preflightHeaders(request));
      return;
    }
    try {
      const answer = await this.#answer(request, response);
      if (answer !== undefined) sendJson(response, answer.status, answer.body);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
    const [target = "", search = ""] = splitOnce(request.url ?? "", "?");
    const [id = "", kind = "", ...more] = target.slice(PREFIX.length).split("/");
    const route = more.length === 0 && Object.hasOwn(ROUTES, kind) ? ROUTES[kind] : undefined;
    if (route === undefined) throw new NotFoundError(`no route ${target.slice(0, 200)}`);
    const operation = route[request.method === "HEAD" ? "GET" : (request.method ?? "GET")];
    if (operation === undefined) {
      throw new InvalidArgumentError(
        `${request.method} is not served here, only ${Object.keys(route).join(", ")}`,
        undefined,
        "method_not_allowed",
      );
    }
    const { volumes, hostIdBase } = this.#parts;
    // Before anything is said about the volume, so that ids cannot be tried out.
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined || !volumes.isTokenOf(id, token)) {
      throw new AuthenticationError("the token of the volume is missing or wrong: send it as Authorization: Bearer");
    }
    const { contentDir } = volumes.get(id);
    const query = new URLSearchParams(search);
    const path = query.get("path");
    if (path === null || path === "") throw new InvalidArgumentError("the query parameter path is required");
    const tree = new VolumeTree(contentDir, hostIdBase);
    try {
      return await HANDLERS[operation]({ tree, path, query, request, response });
    } catch (error) {
      throw toVolumeError(error, path);
    }
  }

  #fail(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
    if (response.headersSent || response.destroyed || (request.destroyed && !request.complete)) {
      response.destroy();
      return;
    }
    const error = toAnswerable(thrown);
    if (error.reason === "internal") this.#parts.logger.error("volume.failed", { message: messageOf(thrown) });
    // What is left of a refused body is read and dropped; a long one is not waited for.
    const isShort = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= MAX_BODY_BYTES;
    const headers = request.complete || isShort ? undefined : { connection: "close" };
    sendJson(response, STATUS_OF_REASON[error.reason].http, { code: error.reason, message: error.message }, headers);
  }
}

function toAnswerable(error: unknown): SandboxError {
  if (SandboxError.isInstance(error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT") return new NotEnoughSpaceError("the disk is full");
  return new InternalError("the platform failed; its log has the details");
}

function toStat(tree: VolumeTree, { path, stat, target }: VolumeEntry): Stat {
  return {
    name: path.slice(path.lastIndexOf("/") + 1),
    type: stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "unknown",
    path,
    size: stat.size,
    mode: stat.mode & 0o7777,
    uid: tree.toInnerId(stat.uid),
    gid: tree.toInnerId(stat.gid),
    atime: stat.atime.toISOString(),
    mtime: stat.mtime.toISOString(),
    ctime: stat.ctime.toISOString(),
    ...(target !== undefined && { target }),
  };
}

function readOwner(query: URLSearchParams, defaultMode: number): VolumeEntryOwner {
  return {
    uid: readNumber(query, "uid", 0, MAX_ID) ?? DEFAULT_OWNER_ID,
    gid: readNumber(query, "gid", 0, MAX_ID) ?? DEFAULT_OWNER_ID,
    mode: readNumber(query, "mode", 0, MAX_MODE) ?? defaultMode,
  };
}

function readUpdate(body: unknown): Partial<VolumeEntryOwner> {
  if (typeof body !== "object" || body === null) throw new InvalidArgumentError("a JSON object is required");
  const fields = body as Readonly<Record<string, unknown>>;
  const read = (name: keyof VolumeEntryOwner, maximum: number) => {
    const value = fields[name];
    if (value === undefined) return {};
    return { [name]: checkNumber(name, value, 0, maximum) };
  };
  return { ...read("uid", MAX_ID), ...read("gid", MAX_ID), ...read("mode", MAX_MODE) };
}

function readNumber(query: URLSearchParams, name: string, minimum: number, maximum: number): number | undefined {
  const text = query.get(name);
  return text === null || text === "" ? undefined : checkNumber(name, Number(text), minimum, maximum);
}

function checkNumber(name: string, value: unknown, minimum: number, maximum: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new InvalidArgumentError(`${name} must be a whole number from ${minimum} to ${maximum}, got ${String(value)}`);
}

function isForced(query: URLSearchParams): boolean {
  return query.get("force") === "true";
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
