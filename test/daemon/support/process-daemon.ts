import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Process, type ProcessEvent } from "../../../gen/proto/process/process_pb.js";
import { createDaemon, type Daemon, type DaemonOptions } from "../../../src/daemon/server.js";

/** A daemon in this process on a loopback port, with root as its default user. */
export interface TestDaemon extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly baseUrl: string;
  readonly port: number;
  readonly directory: string;
  client<S extends DescService>(service: S, useBinaryFormat?: boolean): Client<S>;
  readonly process: Client<typeof Process>;
}

export async function startTestDaemon(options: DaemonOptions = {}): Promise<TestDaemon> {
  const directory = mkdtempSync(join(tmpdir(), "daemon-test-"));
  const daemon = createDaemon({ defaultUser: "root", factsDirectory: join(directory, "facts"), ...options });
  await new Promise<void>((resolve) => daemon.server.listen(0, "127.0.0.1", resolve));
  const { port } = daemon.server.address() as AddressInfo; // a TCP listener has no other kind of address
  const baseUrl = `http://127.0.0.1:${port}`;
  const client = <S extends DescService>(service: S, useBinaryFormat = true) =>
    createClient(service, createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat }));
  return {
    daemon,
    baseUrl,
    port,
    directory,
    client,
    process: client(Process),
    async [Symbol.asyncDispose]() {
      await daemon.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** `Authorization` header that names the user a request runs as. */
export function asUser(name: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${name}:`).toString("base64")}` };
}

/** A shell command as the config of a process. */
export function bash(command: string): { cmd: string; args: string[] } {
  return { cmd: "/bin/bash", args: ["-c", command] };
}

/** What one stream told, in order. */
export interface Transcript {
  readonly events: readonly string[];
  readonly pid: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly pty: Buffer;
  readonly exitCode: number | undefined;
  readonly status: string | undefined;
  readonly error: string | undefined;
}

/** Read a stream of process events to its end. */
export async function collect(
  stream: AsyncIterable<{ event?: ProcessEvent | undefined }>,
  onEvent?: (event: ProcessEvent) => void | Promise<void>,
): Promise<Transcript> {
  const events: string[] = [];
  const output = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[], pty: [] as Uint8Array[] };
  let pid = 0;
  let end: { exitCode: number; status: string; error?: string } | undefined;
  for await (const { event } of stream) {
    if (event === undefined) continue;
    events.push(event.event.case ?? "unknown");
    if (event.event.case === "start") pid = event.event.value.pid;
    if (event.event.case === "data" && event.event.value.output.case)
      output[event.event.value.output.case].push(event.event.value.output.value);
    if (event.event.case === "end") end = event.event.value;
    await onEvent?.(event);
  }
  return {
    events,
    pid,
    stdout: Buffer.concat(output.stdout),
    stderr: Buffer.concat(output.stderr),
    pty: Buffer.concat(output.pty),
    exitCode: end?.exitCode,
    status: end?.status,
    error: end?.error,
  };
}

/** One message of a Connect stream as it travels: flags, length, payload. */
export function frame(payload: string): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(payload);
  const bytes = new Uint8Array(body.length + 5);
  new DataView(bytes.buffer).setUint32(1, body.length);
  bytes.set(body, 5);
  return bytes;
}
