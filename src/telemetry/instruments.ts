import type { Meter } from "@opentelemetry/api";

/** Bounds in seconds: from a call through the local edge to a command that runs for hours. */
const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200];

/** The metrics of a client; `docs/observability.md` lists them. */
export function createInstruments(meter: Meter) {
  return {
    duration: meter.createHistogram("agent_sandbox.client.operation.duration", {
      unit: "s",
      description: "Time from the begin of a call to its end, that of its stream included",
      advice: { explicitBucketBoundaries: DURATION_BOUNDS },
    }),
    io: meter.createCounter("agent_sandbox.client.io", { unit: "By", description: "Bytes of bodies of requests and answers" }),
    retries: meter.createCounter("agent_sandbox.client.retries", {
      unit: "{request}",
      description: "Requests after the first one of a call",
    }),
    activeStreams: meter.createUpDownCounter("agent_sandbox.client.active_streams", {
      unit: "{stream}",
      description: "Processes that are followed, and answers that are read in pieces",
    }),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;
