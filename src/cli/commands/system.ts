import { readFile, statfs } from "node:fs/promises";
import { resolvePaths } from "../../control/paths.js";
import { FailedPreconditionError, Sandbox } from "../../index.js";
import { type PlatformFile, parsePlatformFile } from "../../shared/platform-dirs.js";
import { VERSION } from "../../shared/version.js";
import { resolveConfig } from "../../transport/config.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatBytes } from "../format-bytes.js";
import { writeJson, writeTable } from "../output.js";
import { loadUsage } from "../usage-table.js";

export interface SystemCommandOptions {
  readonly json?: boolean;
}

const PROBE_TIMEOUT_MS = 5_000;

/** `abx system info`: what `abx` talks to. It starts nothing and shows no key. */
export async function runSystemInfoCommand({ json }: SystemCommandOptions): Promise<ExitCode> {
  const { platform, service, apiUrl, sandboxUrl, domain, apiKey, proxy } = resolveConfig();
  const facts: Record<string, unknown> =
    platform === "local"
      ? { platform, ...(await localFacts()) }
      : {
          platform,
          service,
          apiUrl: withoutCredentials(apiUrl),
          sandboxUrl: sandboxUrl === undefined ? `https://<port>-<sandbox id>.${domain}` : withoutCredentials(sandboxUrl),
          hasApiKey: apiKey !== undefined,
          hasProxy: proxy !== undefined,
        };
  return show(facts, json);
}

/** `abx system health`: whether it answers and takes the key. */
export async function runSystemHealthCommand({ json }: SystemCommandOptions): Promise<ExitCode> {
  await assertRunning();
  const startedAt = performance.now();
  await Sandbox.list({ limit: 1 }).nextItems();
  return show({ status: "ok", answeredAfterMs: Math.round(performance.now() - startedAt) }, json);
}

/** `abx system version`: of `abx`, of what runs it, and of the platform of this machine while it runs. */
export async function runSystemVersionCommand({ json }: SystemCommandOptions): Promise<ExitCode> {
  const running = await findRunning();
  return show({ abx: VERSION, node: process.versions.node, platform: running?.version ?? null }, json);
}

/** `abx system metrics`: what all sandboxes use together, and what room their platform has where it is this machine. */
export async function runSystemMetricsCommand({ json }: SystemCommandOptions): Promise<ExitCode> {
  await assertRunning();
  const usages = await loadUsage();
  const known = usages.flatMap(({ usage }) => usage ?? []);
  const sum = (of: (usage: (typeof known)[number]) => number) => known.reduce((total, usage) => total + of(usage), 0);
  const running = usages.filter(({ info }) => info.state === "running").length;
  const totals = {
    running,
    paused: usages.length - running,
    measured: known.length,
    // A sample is a share of the processors of its sandbox.
    cpusUsed: Math.round(sum(({ cpuUsedPct, cpuCount }) => (cpuUsedPct * cpuCount) / 100) * 100) / 100,
    memoryBytes: sum(({ memUsed }) => memUsed),
    diskBytes: sum(({ diskUsed }) => diskUsed),
    ...(resolveConfig().platform === "local" && (await roomOf(resolvePaths().dataDir))),
  };
  if (json) return show(totals, json);
  return show(
    Object.fromEntries(
      Object.entries(totals).map(([name, value]) => (name.endsWith("Bytes") ? [name.slice(0, -5), formatBytes(value)] : [name, value])),
    ),
    json,
  );
}

/** A question about the platform of this machine must not start it. */
async function assertRunning(): Promise<void> {
  if (resolveConfig().platform !== "local" || (await findRunning()) !== undefined) return;
  throw new FailedPreconditionError("the platform of this machine does not run; `abx create` or `abx serve` starts it");
}

async function localFacts() {
  const { dataDir, runDir, logFile } = resolvePaths();
  const running = await findRunning();
  const directories = { dataDir, runDir, logFile };
  if (running === undefined) return { isRunning: false, ...directories };
  const { version, pid, url, startedAt } = running;
  return { isRunning: true, version, pid, url, startedAt, ...directories };
}

/** What the running platform of this user wrote down about itself; `undefined` when none answers. */
async function findRunning(): Promise<PlatformFile | undefined> {
  const text = await readFile(resolvePaths().platformFile, "utf8").catch(() => "");
  const file = parsePlatformFile(text);
  if (file === undefined) return undefined;
  const answer = await fetch(new URL("/health", file.url), { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).catch(() => undefined);
  return answer?.ok ? file : undefined;
}

async function roomOf(directory: string): Promise<Record<string, number>> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { diskFreeBytes: bavail * bsize, diskSizeBytes: blocks * bsize };
}

function withoutCredentials(text: string): string {
  const url = new URL(text);
  url.username = "";
  url.password = "";
  return url.href.replace(/\/$/, "");
}

async function show(facts: Readonly<Record<string, unknown>>, json: boolean | undefined): Promise<ExitCode> {
  if (json) await writeJson(facts);
  else
    await writeTable(
      ["NAME", "VALUE"],
      Object.entries(facts).map(([name, value]) => [name, value === null ? "-" : String(value)]),
    );
  return EXIT.ok;
}
