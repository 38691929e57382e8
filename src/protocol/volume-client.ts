import type { components } from "../../gen/openapi/volume-content.js";
import { ProtocolError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { isBytes } from "../shared/is-bytes.js";
import { VERSION } from "../shared/version.js";
import type { RequestOptions } from "../transport/config.js";
import { Deadline } from "../transport/deadline.js";
import type { HttpBody, HttpClient, HttpResponse } from "../transport/http.js";
import type { RestClient } from "../transport/rest.js";
import { NO_STATUSES, sendWithRetry } from "../transport/retry.js";
import type { Telemetry } from "../transport/telemetry.js";
import { errorFromResponse } from "../transport/wire-errors.js";

/** A named directory that outlives sandboxes. */
export interface VolumeInfo {
  readonly volumeId: string;
  readonly name: string;
}

/** A volume and what opens its content. */
export interface VolumeAccess extends VolumeInfo {
  readonly token: string;
  /** Domain of the content API, when it is not that of the control plane. */
  readonly domain: string | undefined;
}

/** A file, directory or link of a volume. */
export interface VolumeEntry {
  readonly name: string;
  readonly type: "unknown" | "file" | "directory" | "symlink";
  /** From the root of the volume, with a slash in front. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly mode: number;
  /** Owner and group inside sandboxes. */
  readonly uid: number;
  readonly gid: number;
  readonly accessedAt: Date;
  readonly modifiedAt: Date;
  readonly changedAt: Date;
  /** What a link points to. */
  readonly target?: string;
}

/** Owner and permissions inside sandboxes. */
export interface VolumeMetadata {
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly mode?: number | undefined;
}

/** How something new is made. */
export interface VolumeWriteOptions extends RequestOptions, VolumeMetadata {
  /** Make missing parents, and accept a directory that exists. @defaultValue false */
  readonly force?: boolean | undefined;
}

/** The volumes of one control plane. */
export interface VolumeClient {
  create(name: string, options: RequestOptions): Promise<VolumeAccess>;
  get(volumeId: string, options: RequestOptions): Promise<VolumeAccess>;
  list(options: RequestOptions): Promise<VolumeInfo[]>;
  /** False when there was none. */
  delete(volumeId: string, options: RequestOptions): Promise<boolean>;
  open(access: VolumeAccess): VolumeContent;
}

/** The files of one volume. */
export interface VolumeContent {
  stat(path: string, options: RequestOptions): Promise<VolumeEntry>;
  update(path: string, metadata: VolumeMetadata, options: RequestOptions): Promise<VolumeEntry>;
  remove(path: string, options: RequestOptions): Promise<void>;
  list(path: string, depth: number | undefined, options: RequestOptions): Promise<VolumeEntry[]>;
  makeDirectory(path: string, options: VolumeWriteOptions): Promise<VolumeEntry>;
  /** The caller reads the body to its end or leaves the loop. */
  read(path: string, options: RequestOptions): Promise<VolumeBody>;
  write(path: string, data: HttpBody, options: VolumeWriteOptions): Promise<VolumeEntry>;
}

/** A file that is being read. */
export interface VolumeBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  bytes(): Promise<Uint8Array>;
}

/** How the content is reached. */
export interface VolumeContentSettings {
  readonly http: HttpClient;
  /** Base of the control plane; serves the content unless the volume names a domain. */
  readonly apiUrl: string;
  /** Wins over everything else. */
  readonly contentUrl: string | undefined;
  readonly requestTimeoutMs: number;
  readonly retries: number;
  readonly telemetry: Telemetry | undefined;
}

/** How long a file may take on its way when the caller says nothing. */
const TRANSFER_TIMEOUT_MS = 3_600_000;

type Stat = components["schemas"]["VolumeEntryStat"];

/** Put the volumes of a control plane into domain terms. */
export function createVolumeClient(rest: RestClient, settings: VolumeContentSettings): VolumeClient {
  return {
    async create(name, options) {
      const call = { ...options, operation: "volume.create", isIdempotent: false };
      const { data } = await rest.call(call, (client) => client.POST("/volumes", { body: { name } }));
      return toAccess(data, call.operation);
    },
    async get(volumeId, options) {
      const call = { ...options, operation: "volume.connect", isIdempotent: true };
      const params = { path: { volumeID: volumeId } };
      const { data } = await rest.call(call, (client) => client.GET("/volumes/{volumeID}", { params }));
      return toAccess(data, call.operation);
    },
    async list(options) {
      const call = { ...options, operation: "volume.list", isIdempotent: true };
      const { data } = await rest.call(call, (client) => client.GET("/volumes"));
      if (!Array.isArray(data)) throw new ProtocolError(`${call.operation}: the answer is not a list`, { operation: call.operation });
      return data.map(({ volumeID, name }) => ({ volumeId: volumeID, name }));
    },
    async delete(volumeId, options) {
      const call = { ...options, operation: "volume.destroy", isIdempotent: true };
      const params = { path: { volumeID: volumeId } };
      try {
        await rest.call(call, (client) => client.DELETE("/volumes/{volumeID}", { params }));
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "not_found") return false;
        throw error;
      }
    },
    open: (access) => openContent(access, settings),
  };
}

interface ContentRequest {
  readonly operation: string;
  readonly method: string;
  readonly kind: "path" | "dir" | "file";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: HttpBody;
  readonly contentType?: string;
  readonly isTransfer?: boolean;
}

function openContent(access: VolumeAccess, settings: VolumeContentSettings): VolumeContent {
  const { http, apiUrl, contentUrl, retries, telemetry } = settings;
  const domainUrl = access.domain === undefined ? apiUrl : `https://api.${access.domain}`;
  const baseUrl = `${contentUrl ?? domainUrl}/volumecontent/${encodeURIComponent(access.volumeId)}`;

  async function exchange<T>(
    request: ContentRequest,
    options: RequestOptions,
    read: (response: HttpResponse, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const { operation, method, kind, path, query = {}, body, contentType, isTransfer = false } = request;
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
    const requestTimeoutMs = options.requestTimeoutMs ?? (isTransfer ? TRANSFER_TIMEOUT_MS : settings.requestTimeoutMs);
    const deadline = new Deadline({ operation, signal: options.signal, requestTimeoutMs, telemetry });
    let isHandedOver = false;
    try {
      const isStreamed = typeof body === "object" && !isBytes(body);
      const response = await sendWithRetry(
        deadline.over(http),
        {
          method,
          url: `${baseUrl}/${kind}?${new URLSearchParams([["path", path], ...given])}`,
          headers: {
            authorization: `Bearer ${access.token}`,
            "user-agent": `agent-sandbox-js/${VERSION}`,
            ...(contentType !== undefined && { "content-type": contentType }),
          },
          body,
          signal: deadline.signal,
          isIdempotent: !isStreamed && method !== "POST",
        },
        { retries: isStreamed ? 0 : retries, statuses: NO_STATUSES },
        deadline.endsAtMs,
      );
      if (response.status < 200 || response.status >= 300) {
        throw await errorFromResponse(response, { operation, notFound: "file_not_found", peer: "control" }, deadline.signal);
      }
      const result = await read(response, deadline);
      isHandedOver = kind === "file" && method === "GET";
      return result;
    } catch (error) {
      throw deadline.failed(deadline.signal.aborted ? deadline.signal.reason : error);
    } finally {
      if (!isHandedOver) deadline[Symbol.dispose]();
    }
  }

  const readEntry = (operation: string) => async (response: HttpResponse) =>
    toEntry(parse<Stat>(await response.bytes(), operation), operation);
  const metadataOf = ({ uid, gid, mode, force }: VolumeWriteOptions) => ({ uid, gid, mode, force });

  return {
    stat: (path, options) =>
      exchange({ operation: "volume.getInfo", method: "GET", kind: "path", path }, options, readEntry("volume.getInfo")),
    update: (path, { uid, gid, mode }, options) => {
      const operation = "volume.updateMetadata";
      const body = JSON.stringify({ uid, gid, mode });
      return exchange(
        { operation, method: "PATCH", kind: "path", path, body, contentType: "application/json" },
        options,
        readEntry(operation),
      );
    },
    remove: (path, options) =>
      exchange({ operation: "volume.remove", method: "DELETE", kind: "path", path }, options, async (response) => {
        await response.bytes();
      }),
    list: (path, depth, options) => {
      const operation = "volume.list";
      return exchange({ operation, method: "GET", kind: "dir", path, query: { depth } }, options, async (response) => {
        const entries = parse<Stat[]>(await response.bytes(), operation);
        if (!Array.isArray(entries)) throw new ProtocolError(`${operation}: the answer is not a list`, { operation });
        return entries.map((entry) => toEntry(entry, operation));
      });
    },
    makeDirectory: (path, options) =>
      exchange(
        { operation: "volume.makeDir", method: "POST", kind: "dir", path, query: metadataOf(options) },
        options,
        readEntry("volume.makeDir"),
      ),
    read: (path, options) =>
      exchange(
        { operation: "volume.readFile", method: "GET", kind: "file", path, isTransfer: true },
        options,
        async (response, deadline) => ({
          chunks: readChunks(response, deadline),
          bytes: async () => {
            using _ = deadline;
            return response.bytes();
          },
        }),
      ),
    write: (path, body, options) => {
      const operation = "volume.writeFile";
      const request = { operation, method: "PUT", kind: "file", path, body, query: metadataOf(options), isTransfer: true } as const;
      return exchange({ ...request, contentType: "application/octet-stream" }, options, readEntry(operation));
    },
  };
}

async function* readChunks(response: HttpResponse, deadline: Deadline): AsyncGenerator<Uint8Array, void, undefined> {
  using _ = deadline;
  try {
    yield* response.body;
  } catch (error) {
    throw deadline.failed(error);
  }
}

function parse<T>(bytes: Uint8Array, operation: string): T {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as T; // checked by whoever reads it
  } catch (cause) {
    throw new ProtocolError(`${operation}: the answer is not JSON`, { operation, cause });
  }
}

function toAccess(
  data: { readonly volumeID: string; readonly name: string; readonly token: string; readonly domain?: string } | undefined,
  operation: string,
): VolumeAccess {
  if (!data?.volumeID) throw new ProtocolError(`${operation}: the answer describes no volume`, { operation });
  return { volumeId: data.volumeID, name: data.name, token: data.token, domain: data.domain || undefined };
}

function toEntry(wire: Stat, operation: string): VolumeEntry {
  if (typeof wire?.path !== "string") throw new ProtocolError(`${operation}: the answer describes no entry`, { operation });
  const { name, type, path, size, mode, uid, gid, target } = wire;
  return {
    name,
    type,
    path,
    sizeBytes: size,
    mode,
    uid,
    gid,
    accessedAt: new Date(wire.atime),
    modifiedAt: new Date(wire.mtime),
    changedAt: new Date(wire.ctime),
    ...(target !== undefined && { target }),
  };
}
