import { renameSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { InternalError } from "../../../errors/error-classes.js";

/** A unix socket that this process listens on only to hand the descriptor to a container. */
export interface ListeningSocket {
  readonly fd: number;
  /** Give the socket its final name and close this process's descriptor; whoever got a copy goes on listening. */
  release(): Promise<void>;
  /** Close and remove everything. */
  discard(): Promise<void>;
}

/**
 * Listen on `path`, under another name until {@link ListeningSocket.release}.
 *
 * Closing unlinks the name that was bound, so the final one comes from a rename. It also means that nobody can connect while this
 * process, which would accept and never answer, holds the socket.
 */
export async function openListeningSocket(path: string): Promise<ListeningSocket> {
  const boundPath = `${path}.new`;
  rmSync(boundPath, { force: true });
  const server = createServer((connection) => connection.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path: boundPath, backlog: 1024 }, resolve);
  });
  return {
    fd: descriptorOf(server),
    async release() {
      renameSync(boundPath, path);
      await close(server);
    },
    async discard() {
      await close(server);
      rmSync(boundPath, { force: true });
      rmSync(path, { force: true });
    },
  };
}

/** Node has no public way to the descriptor of a server; the handle's `fd` is what its own cluster module uses. */
function descriptorOf(server: Server): number {
  const fd = (server as Server & { readonly _handle?: { readonly fd?: number } })._handle?.fd;
  if (fd === undefined || fd < 0) throw new InternalError("this Node.js does not show the descriptor of a listening socket");
  return fd;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
