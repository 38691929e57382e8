import type { Agent, ClientRequestArgs } from "node:http";
import type { Socket } from "node:net";

/** Let an agent make its connections by `connect`, which Node itself has only for functions with a callback. */
export function connectBy(agent: Agent, connect: (options: ClientRequestArgs) => Promise<Socket>): void {
  agent.createConnection = (options, onCreated) => {
    connect(options).then(
      (socket) => onCreated?.(null, socket),
      // The type asks for a stream beside the error; Node does not look at it.
      (error: Error) => onCreated?.(error, undefined as unknown as Socket),
    );
    return undefined;
  };
}
