import { messageOf } from "../../shared/message-of.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { ServerAnswer, type ServerEvent, type ServerRequest } from "../route.js";
import { RouteFailure, toWireFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

/** Named commands. */
export function createCommandHandlers({ commands }: ServerServices): Pick<RouteHandlers, "listCommands" | "runCommand"> {
  return {
    listCommands: () => ({ commands: commands.list() }),
    runCommand: async (request) => {
      const steps = commands.run(request.params.name ?? "", request.body, { signal: request.signal });
      if (acceptsEvents(request)) return ServerAnswer.events(toEvents(steps, request));
      for (;;) {
        const step = await steps.next();
        if (step.done) return { result: toJson(step.value) };
        // Nobody waits for the rest.
        if (request.signal.aborted) await steps.return(undefined);
      }
    },
  };
}

function acceptsEvents({ headers }: ServerRequest): boolean {
  return (headers.accept ?? "").split(",").some((type) => type.trim().split(";", 1)[0]?.toLowerCase() === "text/event-stream");
}

/** A command that failed has answered too: its error is the last event. */
async function* toEvents(steps: AsyncGenerator<unknown, unknown, undefined>, request: ServerRequest): AsyncGenerator<ServerEvent> {
  const onLeave = () => void steps.return(undefined).catch(() => {});
  request.signal.addEventListener("abort", onLeave, { once: true });
  try {
    for (;;) {
      const step = await steps.next();
      if (step.done) {
        yield { event: "result", data: { result: toJson(step.value) } };
        return;
      }
      yield { event: "progress", data: { data: toJson(step.value) } };
    }
  } catch (error) {
    const { status, body } = toWireFailure(error);
    yield { event: "error", data: { ...body, status } };
  } finally {
    request.signal.removeEventListener("abort", onLeave);
    onLeave();
  }
}

/** Values that JSON has no form for are an error of the command, told before anything of the answer is sent. */
function toJson(value: unknown): unknown {
  if (value === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new RouteFailure(500, "TypeError", `the result cannot be sent as JSON: ${messageOf(cause)}`);
  }
  if (text === undefined) throw new RouteFailure(500, "TypeError", `the result cannot be sent as JSON: it is a ${typeof value}`);
  return value;
}
