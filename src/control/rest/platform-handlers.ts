import type { WarmPool } from "../pool.js";
import type { Sandboxes } from "../sandboxes.js";
import type { SpanExporter } from "../telemetry/span-exporter.js";
import type { Handlers } from "./operation-types.js";

export interface PlatformHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly pool: WarmPool;
  /** Absent where no spans are exported. */
  readonly exporter: SpanExporter | undefined;
}

/** Operations about the platform itself. */
export function createPlatformHandlers(parts: PlatformHandlerParts): Pick<Handlers, "getHealth" | "getPlatformMetrics"> {
  const { sandboxes, pool, exporter } = parts;
  return {
    getHealth: () => ({ status: 204, headers: { "Cache-Control": "no-store" } }),
    getPlatformMetrics: () => ({
      status: 200,
      headers: { "Cache-Control": "no-store" },
      body: {
        uptimeMs: Math.round(process.uptime() * 1000),
        memoryBytes: process.memoryUsage.rss(),
        sandboxes: { running: sandboxes.running().length, starting: sandboxes.startingCount },
        pool: { ready: pool.readyCount },
        telemetry: { isExporting: exporter !== undefined, droppedSpans: exporter?.droppedCount ?? 0 },
      },
    }),
  };
}
