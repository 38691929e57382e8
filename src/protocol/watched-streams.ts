import type { CallFacts, Telemetry } from "../transport/telemetry.js";
import type { SandboxAccess } from "./lifecycle-types.js";
import type { ProcessClient, ProcessSpec, ProcessStreamOptions } from "./process-client.js";
import type { TerminalClient, TerminalSpec } from "./terminal-client.js";
import type { TerminalStream } from "./terminal-stream.js";

/** The same client; each process that is followed is one watched call, over however many connections. */
export function watchProcesses(client: ProcessClient, telemetry: Telemetry, access: SandboxAccess): ProcessClient {
  return {
    ...client,
    start: (spec, options) => telemetry.follow(toFacts(access, options, spec), (span) => client.start(spec, { ...options, span })),
    attach: (pid, options) => telemetry.follow(toFacts(access, options), (span) => client.attach(pid, { ...options, span })),
  };
}

/** The same for terminals. */
export function watchTerminals(client: TerminalClient, telemetry: Telemetry, access: SandboxAccess): TerminalClient {
  return {
    ...client,
    start: (spec, options) =>
      telemetry.follow(toFacts(access, options, spec), async (span) => toPlain(await client.start(spec, { ...options, span }))),
    attach: (pid, options) =>
      telemetry.follow(toFacts(access, options), async (span) => toPlain(await client.attach(pid, { ...options, span }))),
  };
}

function toFacts(
  { sandboxId, templateId }: SandboxAccess,
  { operation }: ProcessStreamOptions,
  spec?: ProcessSpec | TerminalSpec,
): CallFacts {
  return { operation, sandboxId, templateId, ...(spec !== undefined && { command: [spec.cmd, ...spec.args] }) };
}

/** Own properties are what can be replaced one by one. */
function toPlain(stream: TerminalStream): TerminalStream {
  return {
    pid: stream.pid,
    events: stream.events,
    cancel: (reason) => stream.cancel(reason),
    sendInput: (data, options) => stream.sendInput(data, options),
    resize: (size, options) => stream.resize(size, options),
  };
}
