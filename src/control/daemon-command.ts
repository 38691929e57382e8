import { type IncomingMessage, request } from "node:http";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StartRequestSchema, StartResponseSchema } from "../../gen/proto/process/process_pb.js";
import { InternalError } from "../errors/error-classes.js";
import type { SandboxLink } from "./sandbox-link.js";

/** A command that the control plane runs inside a sandbox. */
export interface DaemonCommand {
  readonly args: readonly string[];
  readonly user: string;
  /** What the daemon was told to ask for; absent when it asks for none. */
  readonly accessToken?: string | undefined;
  readonly cwd?: string;
  readonly envs?: Readonly<Record<string, string>>;
  /** Milliseconds until it is killed; absent: never. */
  readonly timeoutMs?: number;
  /** Receives output as it comes. */
  readonly onOutput?: (output: Uint8Array, stream: "stdout" | "stderr") => void;
  /** Called once it runs. A command whose reader leaves goes on. */
  readonly onStarted?: () => void;
  readonly signal: AbortSignal;
}

/** How it ended, as the daemon reported it. */
export interface DaemonCommandEnd {
  readonly exitCode: number;
  /** `exit status 1`, `signal: killed`, … */
  readonly status: string;
}

const END_OF_STREAM = 0b10;
const HEADER_BYTES = 5;
/** Output comes in messages of at most a few hundred KiB; more is no daemon of ours. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * Run a command and follow it to its end (Connect protocol, server streaming).
 *
 * @throws {@link InternalError} the daemon refused (the message says why) or the stream ended without an exit; `signal.reason`.
 */
export async function runDaemonCommand(link: SandboxLink, command: DaemonCommand): Promise<DaemonCommandEnd> {
  const [cmd = "", ...args] = command.args;
  const message = toBinary(
    StartRequestSchema,
    create(StartRequestSchema, {
      process: { cmd, args, envs: { ...command.envs }, ...(command.cwd !== undefined && { cwd: command.cwd }) },
      stdin: false,
    }),
  );
  const response = await post(link, toFrame(message), command);
  let end: DaemonCommandEnd | undefined;
  for await (const { flags, payload } of readFrames(response)) {
    if (flags & END_OF_STREAM) {
      const failure = (JSON.parse(payload.toString()) as { readonly error?: { readonly message?: string } }).error;
      if (failure !== undefined) throw new InternalError(failure.message ?? "the daemon refused the command");
      break;
    }
    const event = fromBinary(StartResponseSchema, payload).event?.event;
    if (event?.case === "start") command.onStarted?.();
    if (event?.case === "data" && (event.value.output.case === "stdout" || event.value.output.case === "stderr")) {
      command.onOutput?.(event.value.output.value, event.value.output.case);
    }
    if (event?.case === "end") end = { exitCode: event.value.exitCode, status: event.value.status };
  }
  command.signal.throwIfAborted();
  if (end === undefined) throw new InternalError("the sandbox ended before the command did");
  return end;
}

function post(link: SandboxLink, body: Buffer, { user, accessToken, timeoutMs, signal }: DaemonCommand): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      agent: link.agent,
      method: "POST",
      path: "/process.Process/Start",
      headers: {
        host: "localhost",
        "content-type": "application/connect+proto",
        "content-length": body.length,
        "connect-protocol-version": "1",
        authorization: `Basic ${Buffer.from(`${user}:`).toString("base64")}`,
        ...(accessToken !== undefined && { "x-access-token": accessToken }),
        ...(timeoutMs !== undefined && { "connect-timeout-ms": String(timeoutMs) }),
      },
      signal,
    });
    outgoing.on("response", resolve);
    outgoing.on("error", (cause) =>
      reject(signal.aborted ? signal.reason : new InternalError(`the sandbox is gone: ${cause.message}`, { cause })),
    );
    outgoing.end(body);
  });
}

function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(HEADER_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, HEADER_BYTES);
  return frame;
}

async function* readFrames(response: IncomingMessage): AsyncGenerator<{ flags: number; payload: Buffer }, void, undefined> {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new InternalError(`the daemon answered a command with status ${response.statusCode}`);
  }
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES) {
        const size = rest.readUInt32BE(1);
        if (size > MAX_MESSAGE_BYTES) throw new InternalError(`the daemon sent a message of ${size} bytes`);
        if (rest.length < HEADER_BYTES + size) break;
        yield { flags: rest[0] ?? 0, payload: rest.subarray(HEADER_BYTES, HEADER_BYTES + size) };
        rest = rest.subarray(HEADER_BYTES + size);
      }
    }
  } catch (error) {
    // What the socket says about its end is said by the caller in terms of the command.
    if (error instanceof InternalError) throw error;
  }
}
