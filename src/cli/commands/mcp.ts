import { type McpOptions, serveMcpHttp, serveMcpStdio } from "../../agent/mcp/index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { watchEndingSignals } from "../local-signals.js";
import { writeErr } from "../output.js";
import { toPrintableLines } from "../printable.js";
import type { ProgramContext } from "../program.js";

export interface McpCommandOptions {
  readonly transport: "stdio" | "http";
  readonly host: string;
  readonly port: number;
  readonly allowOrigin?: readonly string[];
  readonly maxSessions: number;
  /** Seconds, as is `timeout`. */
  readonly idleTimeout: number;
  readonly template: string;
  readonly timeout: number;
  readonly internet: boolean;
}

/** `abx mcp`: whatever ends it, a client that went away among that, is its proper end. Stdout belongs to the protocol. */
export async function runMcpCommand(options: McpCommandOptions, { outputClosed, ignoreClosedOutput }: ProgramContext): Promise<ExitCode> {
  ignoreClosedOutput();
  const ending = new AbortController();
  using _signals = watchEndingSignals(() => ending.abort());
  const shared: McpOptions = {
    create: {
      template: options.template,
      timeoutMs: options.timeout * 1_000,
      ...(!options.internet && { allowInternetAccess: false }),
    },
    onProblem: (message) => void writeErr(`abx mcp: ${toPrintableLines(message)}\n`),
  };
  if (options.transport === "stdio") {
    await serveMcpStdio({ ...shared, signal: AbortSignal.any([ending.signal, outputClosed]) });
    return EXIT.ok;
  }
  await using server = await serveMcpHttp({
    ...shared,
    host: options.host,
    port: options.port,
    token: process.env.AGENT_SANDBOX_MCP_TOKEN,
    allowedOrigins: options.allowOrigin,
    maxSessions: options.maxSessions,
    idleTimeoutMs: options.idleTimeout * 1_000,
  });
  await writeErr(`abx mcp: listening at ${server.url}\n`);
  await new Promise<void>((resolve) => {
    if (ending.signal.aborted) resolve();
    ending.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return EXIT.ok;
}
