import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDaemon } from "../../../src/daemon/server.js";
import { openUserDatabase } from "../../../src/daemon/user-database.js";
import { openPlatform, openSandboxParts, type SandboxParts } from "../../../src/sandbox/open-sandbox.js";
import type { ConnectionOptions } from "../../../src/transport/config.js";

/** An account that no machine has, so that ownership is seen to be set. */
const USER = { uid: 23_471, gid: 23_471 };

/** The client's namespaces on a real daemon in this process, over loopback HTTP. */
export interface DaemonSandbox extends SandboxParts, AsyncDisposable {
  readonly home: string;
  readonly baseUrl: string;
}

export interface DaemonSandboxOptions extends ConnectionOptions {
  readonly isBinary?: boolean;
  /** Services beside the shared wire. @defaultValue none for whatever answers, all for the real daemon */
  readonly services?: readonly string[];
}

export async function openDaemonSandbox(options: DaemonSandboxOptions = {}): Promise<DaemonSandbox> {
  const root = await mkdtemp(join(tmpdir(), "client-daemon-"));
  await chmod(root, 0o755);
  const home = join(root, "home/user");
  await mkdir(home, { recursive: true });
  await chown(home, USER.uid, USER.gid);
  // A home of its own: the login scripts of the machine's root are none of these tests' business.
  const rootHome = join(root, "root");
  const etc = join(root, "etc");
  for (const directory of [rootHome, etc]) await mkdir(directory);
  await writeFile(join(etc, "passwd"), `root:x:0:0:root:${rootHome}:/bin/bash\nuser:x:${USER.uid}:${USER.gid}::${home}:/bin/bash\n`);
  await writeFile(join(etc, "group"), `root:x:0:\nuser:x:${USER.gid}:\n`);
  const daemon = createDaemon({ users: openUserDatabase(etc), factsDirectory: join(root, "facts") });
  await new Promise<void>((resolve) => daemon.server.listen(0, "127.0.0.1", resolve));
  const { port } = daemon.server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}`;
  const parts = await openParts(baseUrl, { services: ["process.v1", "pty.v1"], ...options });
  return {
    ...parts,
    home,
    baseUrl,
    [Symbol.asyncDispose]: async () => {
      await daemon.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** The client's namespaces on whatever answers at `baseUrl`. */
export async function openParts(
  baseUrl: string,
  { isBinary = true, services = [], ...options }: DaemonSandboxOptions = {},
): Promise<SandboxParts> {
  const platform = await openPlatform({ apiUrl: baseUrl, sandboxUrl: baseUrl, apiKey: "key", ...options });
  return openSandboxParts(platform, {
    sandboxId: "itest",
    templateId: "base",
    envdVersion: "0.6.13",
    accessToken: undefined,
    trafficAccessToken: undefined,
    domain: undefined,
    isBinary,
    services,
  });
}
