import type { components } from "../../gen/openapi/lifecycle.js";
import { ConnectionError, ProtocolError } from "../errors/error-classes.js";
import { pause } from "../shared/pause.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestClient } from "../transport/rest.js";
import { readServerSentEvents } from "../transport/server-sent-events.js";
import { onSandbox } from "./on-sandbox.js";
import type { SandboxEvent, SandboxEventType, SandboxLogEntry, SandboxLogQuery, SandboxMetrics } from "./state-types.js";

type Schemas = components["schemas"];

/** A span of time, both ends included. */
export interface MetricsRange {
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

/** Which events to follow. */
export interface EventQuery {
  /** Only those of this sandbox; the stream then ends with it. */
  readonly sandboxId?: string | undefined;
  /** Begin behind the event with this id. @defaultValue now */
  readonly after?: string | undefined;
}

/** What happened in and to sandboxes, in domain terms. */
export interface RecordClient {
  metrics(sandboxId: string, range: MetricsRange, options: RequestOptions): Promise<readonly SandboxMetrics[]>;
  logs(sandboxId: string, query: SandboxLogQuery, options: RequestOptions): Promise<readonly SandboxLogEntry[]>;
  /** Events as they happen. A connection that is lost is opened again behind the last event. */
  events(query: EventQuery, options: RequestOptions): AsyncGenerator<SandboxEvent, void, undefined>;
}

const LAST_EVENTS: readonly SandboxEventType[] = ["killed", "expired", "died"];
/** Openings in a row that may fail before a stream does. */
const MAX_FAILURES = 5;
const RETRY_PAUSE_MS = 500;

/** Put the records of sandboxes into domain terms. */
export function createRecordClient(rest: RestClient): RecordClient {
  return {
    async metrics(sandboxId, { start, end }, options) {
      const query = {
        ...(start !== undefined && { start: Math.floor(start.getTime() / 1000) }),
        ...(end !== undefined && { end: Math.floor(end.getTime() / 1000) }),
      };
      const { data } = await rest.call(onSandbox("sandbox.getMetrics", sandboxId, options), (client) =>
        client.GET("/sandboxes/{sandboxID}/metrics", { params: { path: { sandboxID: sandboxId }, query } }),
      );
      return toList("sandbox.getMetrics", data).map(toMetrics);
    },
    async logs(sandboxId, { cursor, limit, direction, level, search }, options) {
      const query = {
        ...(cursor !== undefined && { cursor: cursor.getTime() }),
        ...(limit !== undefined && { limit }),
        ...(direction !== undefined && { direction }),
        ...(level !== undefined && { level }),
        ...(search !== undefined && { search }),
      };
      const { data } = await rest.call(onSandbox("sandbox.getLogs", sandboxId, options), (client) =>
        client.GET("/v2/sandboxes/{sandboxID}/logs", { params: { path: { sandboxID: sandboxId }, query } }),
      );
      return toList("sandbox.getLogs", data?.logs).map(({ timestamp, level, message, fields }) => ({
        timestamp: new Date(timestamp),
        level,
        message,
        fields,
      }));
    },
    events: (query, options) => follow(rest, query, options),
  };
}

async function* follow(rest: RestClient, query: EventQuery, options: RequestOptions): AsyncGenerator<SandboxEvent, void, undefined> {
  const { sandboxId } = query;
  const path = sandboxId === undefined ? "/sandboxes/events" : `/sandboxes/${encodeURIComponent(sandboxId)}/events`;
  const call = { ...options, operation: "sandbox.events", sandboxId, notFound: "sandbox_not_found", isIdempotent: true } as const;
  let lastId = query.after;
  for (let failures = 0; ; failures += 1) {
    try {
      const headers = { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) };
      for await (const { id, data } of readServerSentEvents(await rest.stream(call, path, headers))) {
        failures = 0;
        lastId = id;
        const event = toEvent(id, data);
        yield event;
        if (sandboxId !== undefined && LAST_EVENTS.includes(event.type)) return;
      }
      if (lastId === undefined)
        throw new ConnectionError("sandbox.events: the stream ended before its first event", { operation: call.operation });
    } catch (error) {
      options.signal?.throwIfAborted();
      // Without a first event there is no place to go on from, and something may have happened meanwhile.
      if (!(error instanceof ConnectionError) || lastId === undefined || failures >= MAX_FAILURES) throw error;
    }
    await pause(RETRY_PAUSE_MS * 2 ** failures, options.signal);
  }
}

function toEvent(id: string, text: string): SandboxEvent {
  try {
    const { sandboxID, type, timestamp, message, fields } = JSON.parse(text) as Schemas["SandboxEvent"];
    return { id, sandboxId: sandboxID, type, timestamp: new Date(timestamp), message, fields };
  } catch (cause) {
    throw new ProtocolError("sandbox.events: an event cannot be understood", { operation: "sandbox.events", cause });
  }
}

function toMetrics(wire: Schemas["SandboxMetric"]): SandboxMetrics {
  const { cpuUsedPct, cpuCount, memUsed, memTotal, memCache, diskUsed, diskTotal } = wire;
  return { timestamp: new Date(wire.timestamp), cpuUsedPct, cpuCount, memUsed, memTotal, memCache, diskUsed, diskTotal };
}

function toList<T>(operation: string, data: readonly T[] | undefined): readonly T[] {
  if (!Array.isArray(data)) throw new ProtocolError(`${operation}: the answer is not a list`, { operation });
  return data;
}
