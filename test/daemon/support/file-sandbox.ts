import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, Code, ConnectError, type ConnectRouter, createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { Filesystem } from "../../../gen/proto/filesystem/filesystem_pb.js";
import { createFileContext, type FileContext } from "../../../src/daemon/filesystem/file-context.js";
import { createFilesystemService } from "../../../src/daemon/filesystem/filesystem-service.js";
import { createWatchHub } from "../../../src/daemon/filesystem/watch/watch-hub.js";
import { createWatcherRegistry } from "../../../src/daemon/filesystem/watch/watcher-registry.js";
import { createLibcLoader } from "../../../src/daemon/native/libc.js";
import { errorDetails } from "../../../src/daemon/rpc-errors.js";
import { openUserDatabase } from "../../../src/daemon/user-database.js";

/** Ids that no account of the machine has, so that ownership is seen to be set. */
export const ALICE = { name: "alice", uid: 23_451, gid: 23_452 } as const;
export const BOB = { name: "bob", uid: 23_453, gid: 23_454 } as const;

/** A home, accounts and the file side of the daemon on loopback, all in one temporary directory. */
export interface FileSandbox {
  readonly root: string;
  /** Home of {@link ALICE}, the default user. */
  readonly home: string;
  readonly bobHome: string;
  readonly baseUrl: string;
  readonly context: FileContext;
  readonly filesystem: Client<typeof Filesystem>;
  readonly state: { defaultUser: string; defaultWorkdir: string | undefined; accessToken: string | undefined };
  [Symbol.asyncDispose](): Promise<void>;
}

export type HttpHandler = (req: IncomingMessage, res: ServerResponse, sandbox: Pick<FileSandbox, "context" | "state">) => Promise<void>;

export async function openFileSandbox(handleFiles?: HttpHandler): Promise<FileSandbox> {
  const root = await mkdtemp(join(tmpdir(), "file-sandbox-"));
  await chmod(root, 0o755);
  const home = join(root, "home/alice");
  const bobHome = join(root, "home/bob");
  for (const [path, user] of [
    [home, ALICE],
    [bobHome, BOB],
  ] as const) {
    await mkdir(path, { recursive: true });
    await chown(path, user.uid, user.gid);
  }
  const etc = join(root, "etc");
  await mkdir(etc);
  await writeFile(
    join(etc, "passwd"),
    `root:x:0:0:root:/root:/bin/bash\nalice:x:${ALICE.uid}:${ALICE.gid}::${home}:/bin/bash\nbob:x:${BOB.uid}:${BOB.gid}::${bobHome}:/bin/sh\n`,
  );
  await writeFile(join(etc, "group"), `root:x:0:\nalice:x:${ALICE.gid}:\nbob:x:${BOB.gid}:\nstaff:x:23460:alice,bob\n`);

  const state: FileSandbox["state"] & { users: FileContext["users"] } = {
    defaultUser: ALICE.name,
    defaultWorkdir: undefined,
    accessToken: undefined,
    users: openUserDatabase(etc),
  };
  const libc = createLibcLoader();
  const context = createFileContext(state, libc);
  const watchers = createWatcherRegistry();
  const service = createFilesystemService({ context, hub: createWatchHub(libc), watchers });
  const rpc = connectNodeAdapter({
    routes: (router: ConnectRouter) => router.service(Filesystem, service),
    interceptors: [errorDetails],
  });
  const server = createServer((req, res) => {
    if (req.url?.split("?", 1)[0] === "/files" && handleFiles !== undefined) void handleFiles(req, res, { context, state });
    else rpc(req, res);
  });
  // As the daemon does: an idle connection is never closed under a client that is about to use it.
  server.keepAliveTimeout = 0;
  const baseUrl = await listen(server);
  return {
    root,
    home,
    bobHome,
    baseUrl,
    context,
    state,
    filesystem: createClient(Filesystem, createConnectTransport({ baseUrl, httpVersion: "1.1" })),
    [Symbol.asyncDispose]: async () => {
      watchers.clear();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Header that names the user of an RPC. */
export function asUser(name: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Basic ${Buffer.from(`${name}:`).toString("base64")}` } };
}

/** Connect code of a rejected call; a call that succeeds gives `undefined`. */
export async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return Code[ConnectError.from(error).code];
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
