import type { CallFacts, FollowedStream, StreamClient } from "../transport/telemetry.js";
import type { OperationSpan } from "./operation-span.js";

/** The same client; following a process is one span, over however many connections. */
export function watchStreams<C extends StreamClient>(
  client: C,
  { sandboxId, templateId }: Pick<CallFacts, "sandboxId" | "templateId">,
  begin: (facts: CallFacts) => OperationSpan,
): C {
  const follow = async (facts: Pick<CallFacts, "operation" | "command">, open: (span: OperationSpan) => Promise<FollowedStream>) => {
    const span = begin({ ...facts, sandboxId, templateId });
    try {
      return watch(await open(span), span);
    } catch (error) {
      span.fail(error);
      span.end();
      throw error;
    }
  };
  const watched: StreamClient = {
    start: (spec, options) => {
      const facts = { operation: options.operation, command: [spec.cmd, ...spec.args] };
      return follow(facts, (span) => client.start(spec, { ...options, span }));
    },
    attach: (pid, options) => follow({ operation: options.operation }, (span) => client.attach(pid, { ...options, span })),
  };
  // What follows is the client's own stream, so the types of the client hold.
  return { ...client, ...watched };
}

/** The stream, whose end is that of the span. Leaving it is no failure. */
function watch(stream: FollowedStream, span: OperationSpan): FollowedStream {
  let isLeft = false;
  let hasBegun = false;
  const read = async function* () {
    hasBegun = true;
    try {
      for await (const event of stream.events) {
        if (event.type === "end") {
          // Whoever waits for the process goes on here, and may look at its spans.
          span.note(event);
          span.end();
        }
        yield event;
      }
    } catch (error) {
      if (!isLeft) span.fail(error);
      throw error;
    } finally {
      span.end();
    }
  };
  const replaced: FollowedStream = {
    events: read(),
    cancel: (reason) => {
      isLeft = true;
      stream.cancel(reason);
      // A generator that never began has no end.
      if (!hasBegun) span.end();
    },
  };
  span.streamed();
  return new Proxy(stream, {
    get(target, name) {
      if (name === "events" || name === "cancel") return replaced[name];
      const value: unknown = Reflect.get(target, name);
      // Terminals are of a class with private members.
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
