// A program that was written for the package e2b. It is compiled twice: with that package and, only the import changed, with our entry.
import {
  ALL_TRAFFIC,
  AuthenticationError,
  type BuildInfo,
  type CommandHandle,
  type CommandResult,
  type ConnectionOpts,
  defaultBuildLogger,
  E2B,
  type EntryInfo,
  type FilesystemEvent,
  FilesystemEventType,
  FileType,
  type Git,
  type GitStatus,
  getSignature,
  LogEntry,
  type Logger,
  NotFoundError,
  ReadyCmd,
  Sandbox,
  SandboxError,
  type SandboxInfo,
  type SandboxLifecycle,
  type SandboxListOpts,
  type SandboxMetrics,
  type SandboxNetworkOpts,
  type SandboxOpts,
  Secret,
  SecretNotFoundError,
  type SnapshotInfo,
  Template,
  type TemplateBuilder,
  type TemplateClass,
  TimeoutError,
  Volume,
  type VolumeEntryStat,
  VolumeFileType,
  VolumeNotFoundError,
  type WatchHandle,
  type WriteInfo,
  waitForFile,
  waitForPort,
  waitForProcess,
  waitForTimeout,
  waitForURL,
} from "e2b";

const logger: Logger = { info: (...args: unknown[]) => console.log(...args), error: console.error };
const connection: ConnectionOpts = { apiKey: "e2b_00", domain: "e2b.app", requestTimeoutMs: 1000, retries: 2, logger, debug: false };

export class Machine extends Sandbox {
  static override readonly defaultTemplate: string = "mine";
  label = "machine";
}

export async function lifecycle(): Promise<void> {
  const network: SandboxNetworkOpts = {
    allowOut: ({ rules }) => [...rules.keys(), "1.1.1.1"],
    denyOut: ({ allTraffic }) => [allTraffic, ALL_TRAFFIC],
    rules: { "api.example.org": [{ transform: { headers: { Authorization: Secret.fill("token") } } }] },
    egressProxy: { address: "proxy:1080", username: "u", password: "p" },
    allowPublicTraffic: false,
    maskRequestHost: "localhost",
    httpsPorts: [8443],
  };
  const life: SandboxLifecycle = { onTimeout: { action: "pause", keepMemory: true }, autoResume: true };
  const options: SandboxOpts = {
    ...connection,
    metadata: { a: "b" },
    envs: { A: "1" },
    timeoutMs: 60_000,
    secure: true,
    allowInternetAccess: true,
    lifecycle: life,
    network,
    volumeMounts: { "/data": "name", "/more": await Volume.connect("id") },
    iam: { tokens: {} },
    mcp: {},
    headers: { "X-A": "b" },
    apiHeaders: { "X-C": "d" },
    validateApiKey: false,
    signal: AbortSignal.timeout(1000),
  };
  const sandbox: Sandbox = await Sandbox.create(options);
  const named: Sandbox = await Sandbox.create("template", { timeoutMs: 1000 });
  const machine: Machine = await Machine.create("base");
  const label: string = machine.label + (await Machine.connect(machine.sandboxId)).label;
  const joined = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1000, onResume: "reboot", ...connection });
  await joined.connect({ timeoutMs: 1000, onResume: "restore" });
  const forks: (Sandbox | Error)[] = await sandbox.fork({ count: 2, timeoutMs: 1000 });
  for (const fork of await Sandbox.fork(sandbox.sandboxId, { count: 2 })) if (!(fork instanceof Error)) await fork.kill();

  const listOptions: SandboxListOpts = {
    query: { metadata: { a: "b" }, state: ["running", "paused"], startedAfter: new Date(), template: "base" },
    order: "asc",
    limit: 10,
    nextToken: "t",
  };
  const paginator = Sandbox.list(listOptions);
  const infos: SandboxInfo[] = [];
  while (paginator.hasNext) infos.push(...(await paginator.nextItems({ requestTimeoutMs: 1000 })));
  const info: SandboxInfo = await Sandbox.getInfo(sandbox.sandboxId, connection);
  const { startedAt, endAt, state, cpuCount, memoryMB, envdVersion, metadata, name, templateId } = await sandbox.getInfo();
  const metrics: SandboxMetrics[] = await sandbox.getMetrics({ start: startedAt, end: endAt });
  const paused: boolean = (await sandbox.pause({ keepMemory: false })) && (await Sandbox.pause("id")) && (await sandbox.betaPause());
  const snapshot: SnapshotInfo = await sandbox.createSnapshot({ name: "s" });
  const snapshots: SnapshotInfo[] = await sandbox.listSnapshots({ limit: 1 }).nextItems();
  await Sandbox.deleteSnapshot(snapshot.snapshotId);
  await sandbox.setTimeout(1000, { requestTimeoutMs: 10 });
  await Sandbox.setTimeout("id", 1000);
  await sandbox.updateNetwork({ allowOut: ["1.1.1.1"], allowInternetAccess: false });
  const urls: string[] = [await sandbox.uploadUrl(), await sandbox.downloadUrl("a", { user: "root", useSignatureExpiration: 10 })];
  const hosts: string = sandbox.getHost(80) + sandbox.getMcpUrl() + (await sandbox.getMcpToken()) + sandbox.trafficAccessToken;
  const flags: boolean[] = [await sandbox.isRunning(), await sandbox.kill(), await Sandbox.kill("id"), paused];
  void [named, label, forks, infos, info, state, cpuCount, memoryMB, envdVersion, metadata, name, templateId];
  void [metrics, snapshots, urls, hosts, flags, sandbox.sandboxDomain];
}

export async function files(sandbox: Sandbox): Promise<void> {
  const { files } = sandbox;
  const text: string = await files.read("a", { user: "root", requestTimeoutMs: 10 });
  const sameText: string = await files.read("a", { format: "text", gzip: true });
  const bytes: Uint8Array = await files.read("a", { format: "bytes" });
  const blob: Blob = await files.read("a", { format: "blob" });
  const stream: ReadableStream<Uint8Array> = await files.read("a", { format: "stream", streamIdleTimeoutMs: 10 });
  const written: WriteInfo = await files.write("a", text, { metadata: { k: "v" }, useOctetStream: true, gzip: true });
  const several: WriteInfo[] = await files.write([
    { path: "a", data: new ArrayBuffer(1) },
    { path: "b", data: blob },
  ]);
  await files.writeFiles([{ path: "c", data: stream }], { user: "root" });
  const entries: EntryInfo[] = await files.list("/", { depth: 2 });
  const isLink: boolean = entries.some((entry) => entry.type === FileType.SYMLINK || entry.type === FileType.DIR);
  const sizes: number[] = entries.map((entry) => entry.size + entry.mode + (entry.modifiedTime?.getTime() ?? 0));
  const made: boolean = (await files.makeDir("d")) && (await files.exists("d"));
  const renamed: EntryInfo = await files.rename("d", "e");
  await files.remove((await files.getInfo("e")).path);
  const onEvent = (event: FilesystemEvent) => {
    if (event.type === FilesystemEventType.WRITE) console.log(event.name, event.entry?.path);
  };
  const onExit = (error?: Error) => console.log(error?.message);
  const watch: WatchHandle = await files.watchDir("/", onEvent, { recursive: true, timeoutMs: 0, onExit, includeEntry: true });
  await watch.stop();
  void [sameText, bytes, written, several, isLink, sizes, made, renamed];
}

export async function processes(sandbox: Sandbox, inBackground: boolean): Promise<void> {
  const { commands, pty } = sandbox;
  const onStdout = (line: string) => console.log(line);
  const result: CommandResult = await commands.run("true", { cwd: "/", envs: { A: "b" }, user: "root", onStdout, onStderr: onStdout });
  const handle: CommandHandle = await commands.run("cat", { background: true, stdin: true, timeoutMs: 0 });
  const either: CommandHandle | CommandResult = await commands.run("true", { background: inBackground });
  await handle.sendStdin("text");
  await commands.sendStdin(handle.pid, new Uint8Array([1]));
  if (commands.supportsStdinClose) await commands.closeStdin(handle.pid);
  await handle.closeStdin();
  const pids: number[] = (await commands.list()).map((process) => process.pid);
  const followed = await commands.connect(handle.pid, { onStdout: async (out) => void out.length, timeoutMs: 0 });
  await followed.disconnect();
  const { exitCode, stdout, stderr, error }: CommandResult = await handle.wait();
  const killed: boolean = (await handle.kill()) && (await commands.kill(1));
  const terminal = await pty.create({ cols: 80, rows: 24, onData: (data: Uint8Array) => void data.length, cwd: "/", envs: {}, user: "u" });
  await pty.sendInput(terminal.pid, new TextEncoder().encode("ls\n"));
  await pty.resize(terminal.pid, { cols: 100, rows: 30 });
  await (await pty.connect(terminal.pid, { onData: () => {} })).wait();
  await pty.kill(terminal.pid);
  void [result, either, pids, exitCode, stdout, stderr, error, killed];
}

export async function git(git: Git): Promise<GitStatus> {
  await git.clone("https://example.org/a.git", { path: "a", branch: "main", depth: 1, username: "u", password: "p", timeoutMs: 1000 });
  await git.commit("a", "message", { authorName: "n", authorEmail: "e", allowEmpty: true });
  await git.push("a", { remote: "origin", branch: "main", setUpstream: true });
  const value: string | undefined = await git.getConfig("user.name", { scope: "local", path: "a" });
  void value;
  return git.status("a");
}

export async function templates(): Promise<BuildInfo> {
  const builder: TemplateBuilder = Template({ fileContextPath: ".", fileIgnorePatterns: ["*.log"] })
    .fromImage("debian", { username: "u", password: "p" })
    .copy(["a", "b"], "/c/", { forceUpload: true, mode: 0o644, user: "root" })
    .copyItems([{ src: "a", dest: "/b" }])
    .runCmd(["a", "b"], { user: "root" })
    .aptInstall(["jq"], { noInstallRecommends: true })
    .pipInstall("numpy")
    .setEnvs({ A: "b" })
    .makeDir("/d", { mode: 0o755 })
    .gitClone("https://example.org/a.git", "/a", { depth: 1 })
    .skipCache();
  const ready = [
    waitForPort(80),
    waitForURL("http://a", 200),
    waitForProcess("a"),
    waitForFile("/a"),
    waitForTimeout(1000),
    new ReadyCmd("a"),
  ];
  const template: TemplateClass = builder.setStartCmd("server", ready[0] ?? "true");
  const onBuildLogs = (entry: LogEntry) => console.log(entry.toString(), entry instanceof LogEntry);
  await Template.build(template, { alias: "name", cpuCount: 2, memoryMB: 1024 });
  await Template.build(template, "name", {
    tags: ["v1"],
    skipCache: true,
    onBuildLogs: defaultBuildLogger({ minLevel: "info" }),
    ...connection,
  });
  const info: BuildInfo = await Template.buildInBackground(template, "name", { onBuildLogs, minFreeDiskMb: 10 });
  const { status, logEntries, reason } = await Template.getBuildStatus(info, { logsOffset: 1 });
  const tags: string[] = (await Template.assignTags("name", ["a"])).tags;
  await Template.removeTags("name", tags);
  const dates: Date[] = (await Template.getTags("name")).map((tag) => tag.createdAt);
  const text: string = (await Template.toJSON(template)) + Template.toDockerfile(template) + status + reason?.message;
  void [logEntries.length, dates, text, await Template.exists("name")];
  return info;
}

export async function stores(): Promise<void> {
  const volume: Volume = await Volume.create("name", connection);
  const stat: VolumeEntryStat = await volume.writeFile("/a", "text", { mode: 0o600, uid: 1, gid: 1, force: true });
  const text: string = await volume.readFile("/a");
  const bytes: Uint8Array = await volume.readFile("/a", { format: "bytes" });
  const times: Date[] = [stat.atime, stat.mtime, stat.ctime];
  const isFile: boolean = stat.type === VolumeFileType.FILE;
  const listed = await volume.list("/", { depth: 2 });
  await volume.updateMetadata("/a", { mode: 0o644 });
  await Volume.destroy(volume.volumeId);
  const secrets = Secret.list({ limit: 10 });
  while (secrets.hasNext) for (const secret of await secrets.nextItems()) console.log(secret.secretId, secret.updatedAt.getTime());
  await Secret.create("name", "value", { metadata: { a: "b" } });
  const { signature, expiration } = await getSignature({ path: "a", operation: "read", user: undefined, envdAccessToken: "t" });
  void [text, bytes, times, isFile, listed, signature, expiration];
}

export async function client(): Promise<string> {
  const e2b = new E2B({ apiKey: "e2b_00", domain: "example.org" });
  const sandbox = await e2b.Sandbox.create("base", { timeoutMs: 1000 });
  await e2b.Template.build(e2b.Template().fromBaseImage(), "name");
  await e2b.Secret.create("a", "b");
  await e2b.Volume.list();
  return sandbox.sandboxId;
}

export function explain(error: unknown): string {
  if (error instanceof TimeoutError || error instanceof NotFoundError) return error.message;
  if (error instanceof AuthenticationError || error instanceof VolumeNotFoundError || error instanceof SecretNotFoundError)
    return error.name;
  if (error instanceof SandboxError) return `${error.statusCode}`;
  throw error;
}
