import { randomUUID } from "node:crypto";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { SandboxSession } from "../sandbox-session.js";
import type { McpOptions } from "./mcp-options.js";
import type { McpSdk } from "./mcp-sdk.js";
import { openMcpServer } from "./mcp-server.js";

interface Entry {
  readonly transport: StreamableHTTPServerTransport;
  readonly session: SandboxSession;
  /** Requests that are not answered yet. */
  pending: number;
  /** In milliseconds of `performance.now()`. */
  usedAt: number;
}

export interface HttpSessionLimits {
  /** Sessions at a time. */
  readonly maxSessions: number;
  /** Milliseconds after which a session without a request ends. */
  readonly idleMs: number;
  /** Bytes of one message. */
  readonly maxMessageBytes: number;
}

/** The sessions of an HTTP server, each with sandboxes of its own. */
export class HttpSessions {
  readonly #sdk: McpSdk;
  readonly #options: McpOptions;
  readonly #limits: HttpSessionLimits;
  readonly #entries = new Map<string, Entry>();
  /** Those whose first message has not been understood yet; they count too. */
  readonly #opening = new Set<Entry>();
  readonly #timer: NodeJS.Timeout;

  constructor(sdk: McpSdk, options: McpOptions, limits: HttpSessionLimits) {
    this.#sdk = sdk;
    this.#options = options;
    this.#limits = limits;
    this.#timer = setInterval(() => void this.#endIdle(), Math.max(10, Math.min(limits.idleMs / 4, 30_000)));
    this.#timer.unref();
  }

  get isFull(): boolean {
    return this.#entries.size + this.#opening.size >= this.#limits.maxSessions;
  }

  /** Handle a request of the session `id`. False when there is none. */
  async use(id: string, handle: (transport: StreamableHTTPServerTransport) => Promise<void>): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    entry.pending += 1;
    try {
      await handle(entry.transport);
    } finally {
      entry.pending -= 1;
      entry.usedAt = performance.now();
    }
    return true;
  }

  /** Handle a request that has no session yet; the session is kept when the request was a proper beginning. */
  async open(handle: (transport: StreamableHTTPServerTransport) => Promise<void>): Promise<void> {
    const session = new SandboxSession(this.#options);
    const transport = new this.#sdk.StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#opening.delete(entry);
        this.#entries.set(id, entry);
      },
      maxRequestBodySize: this.#limits.maxMessageBytes,
    });
    const entry: Entry = { transport, session, pending: 0, usedAt: performance.now() };
    const server = openMcpServer(this.#sdk, session, this.#options);
    server.onclose = () => void this.#forget(entry);
    this.#opening.add(entry);
    try {
      // The two halves of the library disagree about members that may be undefined.
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      await handle(transport);
    } finally {
      if (this.#opening.has(entry)) await transport.close();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#end([...this.#entries.values(), ...this.#opening]);
  }

  async #endIdle(): Promise<void> {
    const limit = performance.now() - this.#limits.idleMs;
    await this.#end([...this.#entries.values()].filter(({ pending, usedAt }) => pending === 0 && usedAt < limit));
  }

  async #end(entries: readonly Entry[]): Promise<void> {
    await Promise.all(
      entries.map(async (entry) => {
        await entry.transport.close();
        await this.#forget(entry);
      }),
    );
  }

  async #forget(entry: Entry): Promise<void> {
    this.#opening.delete(entry);
    if (entry.transport.sessionId !== undefined) this.#entries.delete(entry.transport.sessionId);
    await entry.session.close();
  }
}
