import { InternalError } from "../../../errors/error-classes.js";
import { SandboxError } from "../../../errors/sandbox-error.js";
import { messageOf } from "../../../shared/message-of.js";
import { OciEngine } from "./engine.js";
import type { HelperRequest, HelperResponse } from "./helper-protocol.js";

/**
 * The runtime helper: a small process that makes containers for the control plane, because starting programs from a large heap is slow
 * and because its mount namespace differs from everyone else's. It answers the messages of helper-protocol.ts on Node's IPC channel and
 * ends with the channel.
 */
let engine: OciEngine | undefined;

process.on("message", (request: HelperRequest) => {
  answer(request).then(send, (error: unknown) => send({ callId: request.callId, error: toWireError(error) }));
});
// A container that is being started at this moment is found and buried by the next platform.
process.on("disconnect", () => {
  engine?.close();
  process.exit(0);
});

async function answer(request: HelperRequest): Promise<HelperResponse> {
  const { callId } = request;
  switch (request.method) {
    case "open": {
      engine = new OciEngine(request.params);
      return { callId, result: await engine.open() };
    }
    case "create":
      await opened().create(request.params);
      return { callId, result: null };
    case "destroy":
      await opened().destroy(request.params.id);
      return { callId, result: null };
    case "harvest":
      return { callId, result: await opened().harvest(request.params.id, request.params.target) };
    case "freeze":
      await opened().freeze(request.params.id);
      return { callId, result: null };
    case "thaw":
      return { callId, result: await opened().thaw(request.params.id) };
    case "stop":
      await opened().stop(request.params.id);
      return { callId, result: null };
    case "capture":
      return { callId, result: await opened().capture(request.params.id, request.params.target) };
    case "usage":
      return { callId, result: await opened().usage(request.params.ids, request.params.withDisk) };
    case "list":
      return { callId, result: opened().list() };
  }
}

function opened(): OciEngine {
  if (engine === undefined) throw new InternalError("the runtime helper got a call before it was opened");
  return engine;
}

function send(response: HelperResponse): void {
  if (process.connected) process.send?.(response);
}

function toWireError(error: unknown): { reason: SandboxError["reason"]; message: string } {
  if (SandboxError.isInstance(error)) return { reason: error.reason, message: error.message };
  return { reason: "internal", message: messageOf(error) };
}
