import type { components } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { Journal, JournalEntry } from "../journal.js";
import { followEvents } from "../records/event-feed.js";
import type { MetricSample, MetricsStore } from "../records/metrics-store.js";
import { parseSandboxId, toSandboxId } from "../sandbox-id.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import { filledIn } from "./filled-in.js";
import type { Handlers, ServerSentEvent } from "./operation-types.js";

export interface RecordHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly metrics: MetricsStore;
  readonly journal: Journal;
}

type Wire = components["schemas"];
type RecordOperation =
  | "getSandboxMetrics"
  | "listSandboxesMetrics"
  | "getSandboxLogs"
  | "getSandboxLogsV2"
  | "streamSandboxEvents"
  | "streamEvents";

/** Operations that tell what happened in and to sandboxes. */
export function createRecordHandlers({ sandboxes, metrics, journal }: RecordHandlerParts): Pick<Handlers, RecordOperation> {
  // Log and events outlive the sandbox: why it ended is asked afterwards.
  const toLoggedId = (text: string): string => {
    const id = parseSandboxId(text);
    return journal.has(id) ? id : sandboxes.get(id).id;
  };
  return {
    getSandboxMetrics: ({ path, query }) => {
      const record = sandboxes.get(parseSandboxId(path.sandboxID));
      const { start, end } = query;
      if (start !== undefined && end !== undefined && start > end) {
        throw new InvalidArgumentError(`start must not be after end, got ${start} and ${end}`);
      }
      // The last millisecond of the second belongs to it.
      const samples = metrics.range(record.id, toDate(start), toDate(end, 999));
      return { status: 200, body: samples.map((sample) => toMetric(record, sample)) };
    },
    listSandboxesMetrics: ({ query }) => {
      const found: Record<string, Wire["SandboxMetric"]> = {};
      for (const text of query.sandbox_ids) {
        const id = toSandboxId(text);
        const sample = id === undefined ? undefined : metrics.latest(id);
        if (id !== undefined && sample !== undefined) found[id] = toMetric(sandboxes.get(id), sample);
      }
      return { status: 200, body: { sandboxes: found } };
    },
    getSandboxLogs: ({ path, query }) => {
      const lines = journal.logs(toLoggedId(path.sandboxID), { cursorMs: query.start, direction: "forward", limit: filledIn(query.limit) });
      return { status: 200, body: { logs: lines.map(toLine), logEntries: lines.map(toLogEntry) } };
    },
    getSandboxLogsV2: ({ path, query }) => {
      const { cursor, level, search } = query;
      const lines = journal.logs(toLoggedId(path.sandboxID), {
        cursorMs: cursor,
        direction: filledIn(query.direction),
        level,
        search,
        limit: filledIn(query.limit),
      });
      return { status: 200, body: { logs: lines.map(toLogEntry) } };
    },
    streamSandboxEvents: ({ path, header, signal }) => {
      const sandboxId = toLoggedId(path.sandboxID);
      const after = toSeq(header["Last-Event-ID"]) ?? journal.lastSeq;
      // Behind the end of a sandbox nothing comes.
      if (journal.eventsAfter(after, sandboxId, 1).length === 0) sandboxes.get(sandboxId);
      return { status: 200, events: toEvents(followEvents(journal, { sandboxId, after, signal })) };
    },
    streamEvents: ({ header, signal }) => ({
      status: 200,
      events: toEvents(followEvents(journal, { after: toSeq(header["Last-Event-ID"]), signal })),
    }),
  };
}

function toDate(seconds: number | undefined, moreMs = 0): Date | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1000 + moreMs);
}

function toMetric({ limits }: SandboxRecord, sample: MetricSample): Wire["SandboxMetric"] {
  const { at, cpuUsedPct, memUsed, memCache, diskUsed, diskTotal } = sample;
  return {
    timestamp: at.toISOString(),
    timestampUnix: Math.floor(at.getTime() / 1000),
    cpuCount: Math.ceil(limits.cpuCount),
    cpuUsedPct,
    memUsed,
    memTotal: limits.memoryBytes,
    memCache,
    diskUsed,
    diskTotal,
  };
}

function toLogEntry({ at, message, level, logger, event, fields }: JournalEntry): Wire["SandboxLogEntry"] {
  return { timestamp: at.toISOString(), message, level, fields: { logger, ...(event !== undefined && { event }), ...fields } };
}

function toLine({ at, message, level, logger, event, fields }: JournalEntry): Wire["SandboxLog"] {
  const line = { ...fields, level, logger, message, ...(event !== undefined && { event }) };
  return { timestamp: at.toISOString(), line: JSON.stringify(line) };
}

function toSeq(lastEventId: string | undefined): number | undefined {
  return lastEventId === undefined ? undefined : Number(lastEventId);
}

async function* toEvents(entries: AsyncIterable<JournalEntry>): AsyncGenerator<ServerSentEvent, void, undefined> {
  for await (const { seq, sandboxId, at, event, message, fields } of entries) {
    const data: Wire["SandboxEvent"] = { sandboxID: sandboxId, type: event ?? "created", timestamp: at.toISOString(), message, fields };
    yield { id: String(seq), type: data.type, data: JSON.stringify(data) };
  }
}
