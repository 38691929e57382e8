import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { FailedPreconditionError, FileNotFoundError, TimeoutError } from "../errors/error-classes.js";
import type { CommandHandle } from "../sandbox/command-handle.js";
import type { Commands } from "../sandbox/commands.js";
import type { Files } from "../sandbox/files.js";
import type { NamedCommands } from "../sandbox/named-commands.js";
import { pause } from "../shared/pause.js";
import { quoteShellWord } from "../shared/shell-quote.js";
import { VERSION } from "../shared/version.js";
import { type SandboxWithFiles, uploadDir } from "./directory-transfer.js";
import { findOwnFile } from "./package-root.js";

/** How a command server is started in a sandbox. */
export interface StartCommandServerOptions {
  /** Local directory to send along, which holds the program; `node_modules` and `.git` are left out. @defaultValue the program alone is sent */
  readonly directory?: string | undefined;
  /** Where the program goes. @defaultValue "/home/user/command-server" */
  readonly remoteDirectory?: string | undefined;
  /** Port that the program listens on, 9000 unless it says otherwise. @defaultValue 9000 */
  readonly port?: number | undefined;
  /** Variables of the program beside those of the sandbox. */
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** Node inside the sandbox that takes TypeScript, 22.18 or newer. @defaultValue that of the local platform, else `node` in PATH */
  readonly node?: string | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
  /** Milliseconds until it must answer. @defaultValue 30_000 */
  readonly readyTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What of a sandbox a command server needs. */
export interface SandboxWithCommands {
  readonly files: Pick<Files, "write"> & SandboxWithFiles["files"];
  readonly commands: Pick<Commands, "start">;
  /** The commands of its server. */
  named(): Pick<NamedCommands, "isServing" | "serverEnvs">;
}

const BUNDLE = ["dist", "server", "standalone.mjs"] as const;
const DEFAULT_DIRECTORY = "/home/user/command-server";
const LEFT_OUT = ["node_modules/", ".git/"];
/** Where sandboxes of the local platform have the Node that their daemon runs on. */
const PLATFORM_NODE = "/opt/agent-sandbox/node";
const DEFAULT_READY_MS = 30_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
const KEPT_OUTPUT_LENGTH = 2_000;

/**
 * Run a program that calls `startServer` inside a sandbox, and resolve when it answers. `@agent-sandbox/sdk/server` is sent along, so the
 * program may import it and nothing has to be installed.
 *
 * The server answers only those who may use the sandbox. It goes on when this process ends; `kill()` of the result ends it, and
 * `commands.connect(pid)` follows what it writes.
 *
 * @param program local file, TypeScript or JavaScript
 * @throws {@link FailedPreconditionError} the program ended, with what it said, a server has the port already, or this package is not built; {@link FileNotFoundError} there is no
 * such program; {@link TimeoutError} it did not answer in time, and was killed.
 */
export async function startCommandServer(
  sandbox: SandboxWithCommands,
  program: string | URL,
  options: StartCommandServerOptions = {},
): Promise<CommandHandle> {
  const { port, signal, user, envs, remoteDirectory = DEFAULT_DIRECTORY, readyTimeoutMs = DEFAULT_READY_MS } = options;
  const file = path.resolve(typeof program === "string" ? program : fileURLToPath(program));
  const entry = await whileFree(sandbox, port, () => sendProgram(sandbox, file, remoteDirectory, options));
  let output = "";
  const keep = (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_LENGTH);
  };
  const server = await sandbox.commands.start(`exec ${toNode(options.node)} ${quoteShellWord(entry)}`, {
    cwd: remoteDirectory,
    user,
    envs: { ...(await sandbox.named().serverEnvs()), ...envs },
    tag: "command-server",
    timeoutMs: 0,
    maxOutputBytes: 0,
    onStdout: keep,
    onStderr: keep,
    signal,
  });
  const ended = server.waitForOutcome().then(({ exitCode, error }) => {
    throw new FailedPreconditionError(
      `the command server ended with ${error ?? `exit code ${exitCode}`} before it answered: ${output.trim()}`,
    );
  });
  ended.catch(() => {});
  const ready = new AbortController();
  try {
    await Promise.race([
      ended,
      untilServing(sandbox, { port, readyTimeoutMs, signal: AbortSignal.any([ready.signal, ...(signal ? [signal] : [])]) }),
    ]);
    // A stream that is followed would keep this process alive as long as the server.
    await server.disconnect();
    return server;
  } catch (error) {
    await server.kill().catch(() => {});
    throw error;
  } finally {
    ready.abort();
  }
}

/**
 * Do something, and fail when a server answers on the port meanwhile: it would be taken for the one that is started then. A server answers in
 * milliseconds, and that nothing listens is known much later, so it is not waited for.
 */
async function whileFree<T>(sandbox: SandboxWithCommands, port: number | undefined, action: () => Promise<T>): Promise<T> {
  const probe = new AbortController();
  let isTaken = false;
  sandbox
    .named()
    .isServing({ port, signal: probe.signal })
    .then(
      (isServing) => {
        isTaken = isServing;
      },
      () => {},
    );
  try {
    const result = await action();
    if (!isTaken) return result;
  } finally {
    probe.abort();
  }
  throw new FailedPreconditionError(
    `a server answers on port ${port ?? 9000} of the sandbox already: end it first, or choose another port`,
  );
}

/** Send the program and the package that it imports; gives the path of the program inside. */
async function sendProgram(
  sandbox: SandboxWithCommands,
  file: string,
  remoteDirectory: string,
  { directory, user, signal }: StartCommandServerOptions,
): Promise<string> {
  const bundle = findOwnFile(...BUNDLE);
  if (bundle === undefined)
    throw new FailedPreconditionError(`${BUNDLE.join("/")} of @agent-sandbox/sdk is missing: install the package without bundling it`);
  const source = await readFile(file).catch((cause: unknown) => {
    throw new FileNotFoundError(`the program '${file}' cannot be read`, { cause });
  });
  const name = directory === undefined ? path.basename(file) : path.relative(directory, file);
  if (name.startsWith("..")) throw new FailedPreconditionError(`the program '${file}' is not in the directory '${directory}'`);
  if (directory !== undefined) await uploadDir(sandbox, directory, remoteDirectory, { ignore: LEFT_OUT, user, signal });
  const packageDirectory = `${remoteDirectory}/node_modules/@agent-sandbox/sdk`;
  const manifest = { name: "@agent-sandbox/sdk", version: VERSION, type: "module", exports: { "./server": "./server.mjs" } };
  const entry = `${remoteDirectory}/${name.split(path.sep).join("/")}`;
  await sandbox.files.write(
    [
      { path: `${packageDirectory}/package.json`, data: JSON.stringify(manifest) },
      { path: `${packageDirectory}/server.mjs`, data: await readFile(bundle) },
      // Without one, Node takes a program of this directory for a script of the older kind and loads it twice.
      ...(directory === undefined
        ? [
            { path: `${remoteDirectory}/package.json`, data: '{"type":"module"}' },
            { path: entry, data: source },
          ]
        : []),
    ],
    { user, signal },
  );
  return entry;
}

function toNode(node: string | undefined): string {
  if (node !== undefined) return quoteShellWord(node);
  return `"$(if [ -x ${PLATFORM_NODE} ]; then echo ${PLATFORM_NODE}; else command -v node || echo node; fi)"`;
}

async function untilServing(
  sandbox: SandboxWithCommands,
  { port, readyTimeoutMs, signal }: { readonly port: number | undefined; readonly readyTimeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const endsAtMs = performance.now() + readyTimeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    if (await sandbox.named().isServing({ port, signal })) return;
    if (performance.now() + pauseMs > endsAtMs) {
      throw new TimeoutError(`the command server did not answer within readyTimeoutMs (${readyTimeoutMs} ms)`, { timeout: "request" });
    }
    await pause(pauseMs, signal);
  }
}
