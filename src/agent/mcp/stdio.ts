import { type Readable, Writable } from "node:stream";
import { SandboxSession } from "../sandbox-session.js";
import type { McpOptions } from "./mcp-options.js";
import { loadMcpSdk } from "./mcp-sdk.js";
import { openMcpServer } from "./mcp-server.js";
import { wholeLines } from "./whole-lines.js";

/** How one client is served. */
export interface McpStdioOptions extends McpOptions {
  /** Where the client's messages come from. @defaultValue stdin of this process */
  readonly input?: Readable | undefined;
  /** Where messages go. @defaultValue stdout of this process, which then carries nothing else: what is printed goes to stderr */
  readonly output?: Writable | undefined;
  /** Ends the session. */
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of one message, a file that is written among them. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** Serve one client over a pair of streams until it goes, then kill the sandboxes of the session. */
export async function serveMcpStdio(options: McpStdioOptions = {}): Promise<void> {
  const { input = process.stdin, signal } = options;
  const sdk = await loadMcpSdk();
  using own = options.output === undefined ? takeStdout() : { stream: options.output, [Symbol.dispose]: () => undefined };
  await using session = new SandboxSession(options);
  const server = openMcpServer(sdk, session, options);
  const lines = input.pipe(wholeLines(MAX_MESSAGE_BYTES));
  const gone = new Promise<void>((resolve) => {
    for (const event of ["close", "error"]) input.once(event, () => lines.end());
    for (const event of ["end", "close", "error"]) lines.once(event, () => resolve());
    for (const event of ["close", "error"]) own.stream.once(event, () => resolve());
    signal?.addEventListener("abort", () => resolve(), { once: true });
    server.onclose = resolve;
    if (signal?.aborted) resolve();
  });
  await server.connect(new sdk.StdioServerTransport(lines, own.stream, { maxBufferSize: MAX_MESSAGE_BYTES }));
  await gone;
  // Input that nobody reads any more must not hold the process.
  input.unpipe(lines);
  await server.close();
}

/** Keep stdout for the protocol: what anything else prints goes to stderr until this is disposed. */
function takeStdout(): Disposable & { readonly stream: Writable } {
  const original = process.stdout.write;
  const write = original.bind(process.stdout);
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, (error) => done(error)) });
  // Errors of the streams end the session; without a listener they would end the process.
  const ignore = (): void => undefined;
  stream.on("error", ignore);
  process.stdout.on("error", ignore);
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof original;
  return {
    stream,
    [Symbol.dispose]: () => {
      process.stdout.write = original;
      process.stdout.off("error", ignore);
    },
  };
}
