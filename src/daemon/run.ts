import { parseArgs } from "node:util";
import { CODE_PORT } from "./code/code-endpoint.js";
import { useLightHeaders } from "./light-headers.js";
import { createDaemon } from "./server.js";

const USAGE = "usage: daemon.mjs --fd <number> | --port <number> [--host <address>] | --socket <path>";
const IDLE_CONNECTION_MS = 640_000;
/** Ports of the way out on the loopback interface of the sandbox, HTTP and SOCKS5. */
const EGRESS = { httpPort: 49_981, socksPort: 49_982, root: "/" } as const;

/** Where the daemon accepts connections. */
type Listener =
  | { readonly kind: "fd"; readonly fd: number }
  | { readonly kind: "port"; readonly port: number; readonly host: string }
  | { readonly kind: "socket"; readonly path: string };

function parseListener(args: string[]): Listener | undefined {
  const { values } = parseArgs({
    args,
    options: { fd: { type: "string" }, port: { type: "string" }, host: { type: "string", default: "0.0.0.0" }, socket: { type: "string" } },
  });
  if (values.fd !== undefined && /^\d+$/.test(values.fd)) return { kind: "fd", fd: Number(values.fd) };
  if (values.port !== undefined && /^\d+$/.test(values.port)) return { kind: "port", port: Number(values.port), host: values.host };
  return values.socket ? { kind: "socket", path: values.socket } : undefined;
}

/** Serve until a signal ends it; what the command line says wrong ends the process with status 2. */
export function run(): void {
  let listener: Listener | undefined;
  try {
    listener = parseListener(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  if (listener === undefined) {
    console.error(USAGE);
    process.exit(2);
  }
  process.umask(0o022);
  useLightHeaders();
  const isPublic = listener.kind === "port";
  const daemon = createDaemon({
    guardTunnels: isPublic,
    hasKernels: true,
    idleConnectionMs: isPublic ? IDLE_CONNECTION_MS : 0,
    // A descriptor comes from a platform that gives the sandbox no network; with other listeners it has one of its own.
    ...(listener.kind === "fd" ? { egress: EGRESS } : {}),
  });
  // The sandbox ends with the daemon, so one failed request must not end the daemon.
  const { complaints } = daemon.state;
  process.on("uncaughtException", (error) => complaints.add("uncaught error in the daemon", error));
  process.on("unhandledRejection", (error) => complaints.add("unhandled rejection in the daemon", error));
  daemon.server.once("error", (error) => {
    console.error(`the daemon cannot listen: ${error.message}`);
    process.exit(1);
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void daemon.close().then(() => process.exit(0)));
  }
  switch (listener.kind) {
    case "fd":
      daemon.server.listen({ fd: listener.fd });
      break;
    case "port":
      daemon.server.listen(listener.port, listener.host);
      // With a network of its own, the sandbox has the port itself.
      if (daemon.code?.isAvailable) daemon.code.server.listen(CODE_PORT, listener.host);
      break;
    case "socket":
      daemon.server.listen(listener.path);
  }
}
