import { execFileSync } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { cpus, loadavg, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { type StartedPlatform, startTestPlatform } from "../test/support/test-platform.js";
import type { BenchValue, Measurement, StartPlatform } from "./measurement.js";
import { burst } from "./measurements/burst.js";
import { createCold } from "./measurements/create-cold.js";
import { createWarm } from "./measurements/create-warm.js";
import { edgeHttp } from "./measurements/edge-http.js";
import { egressOverhead } from "./measurements/egress.js";
import { fileTransfer } from "./measurements/file-transfer.js";
import { fork } from "./measurements/fork.js";
import { idleMemory } from "./measurements/idle-memory.js";
import { manySandboxes } from "./measurements/many-sandboxes.js";
import { pauseResume } from "./measurements/pause-resume.js";
import { ptyEcho } from "./measurements/pty-echo.js";
import { runCode } from "./measurements/run-code.js";
import { runTrue } from "./measurements/run-true.js";
import { snapshot } from "./measurements/snapshot.js";
import { stdout } from "./measurements/stdout.js";
import { vsE2b } from "./measurements/vs-e2b.js";
import { vsE2bCreate } from "./measurements/vs-e2b-create.js";
import { vsE2bEntry } from "./measurements/vs-e2b-entry.js";

const MEASUREMENTS: readonly Measurement[] = [
  createWarm,
  createCold,
  runTrue,
  runCode,
  ptyEcho,
  stdout,
  fileTransfer,
  idleMemory,
  pauseResume,
  snapshot,
  fork,
  burst,
  manySandboxes,
  egressOverhead,
  edgeHttp,
  vsE2bCreate,
  vsE2b,
  vsE2bEntry,
];
const RESULTS = fileURLToPath(new URL("results/latest.json", import.meta.url));

const wanted = process.argv.slice(2);
/** One-minute load before anything was measured; above the number of processors the numbers are those of a busy machine. */
const loadBefore = Math.round((loadavg()[0] ?? 0) * 10) / 10;
if (loadBefore > cpus().length)
  process.stderr.write(`this machine is busy (load ${loadBefore} on ${cpus().length} processors): expect worse numbers\n`);
const values: BenchValue[] = [];
for (const measurement of MEASUREMENTS.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)))) {
  process.stderr.write(`measuring ${measurement.name}\n`);
  values.push(...(await runMeasurement(measurement)));
}
printTable(values);
// A partial run says nothing about the rest, so it does not replace the last whole one.
if (wanted.length === 0) await writeResults(values);

async function runMeasurement(measurement: Measurement): Promise<readonly BenchValue[]> {
  const started: StartedPlatform[] = [];
  const startPlatform: StartPlatform = async (env) => {
    const platform = await startTestPlatform(env);
    started.push(platform);
    if (!platform.context.isAvailable) throw new Error(platform.context.reason);
    const { apiUrl, sandboxUrl, apiKey } = platform.context;
    return { apiUrl, sandboxUrl, apiKey, untilLogged: platform.log.untilLogged };
  };
  try {
    return await measurement.measure(startPlatform);
  } finally {
    for (const platform of started) await platform.stop();
  }
}

function reaches({ value, target }: BenchValue): boolean | undefined {
  if (target === undefined) return undefined;
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
}

function printTable(rows: readonly BenchValue[]): void {
  console.log(`${"key".padEnd(28)}${"value".padStart(10)}  target`);
  for (const row of rows) {
    const { target } = row;
    const bound = target === undefined ? "" : "atMost" in target ? `≤ ${target.atMost}` : `≥ ${target.atLeast}`;
    const verdict = { true: "pass", false: "MISS", undefined: "" }[String(reaches(row)) as "true" | "false" | "undefined"];
    console.log(`${row.key.padEnd(28)}${row.value.toFixed(2).padStart(10)}  ${bound.padEnd(10)}${verdict}`.trimEnd());
  }
}

async function writeResults(rows: readonly BenchValue[]): Promise<void> {
  const results: Record<string, unknown> = {
    measuredAt: new Date().toISOString(),
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim(),
    machine: { cpus: cpus().length, memoryMib: Math.round(totalmem() / 2 ** 20), kernel: release(), node: process.version, loadBefore },
  };
  for (const { key, value } of rows) {
    const [name = key, part] = key.split(".");
    const rounded = Math.round(value * 100) / 100;
    results[name] = part === undefined ? rounded : { ...(results[name] as object | undefined), [part]: rounded };
  }
  await mkdir(fileURLToPath(new URL("results/", import.meta.url)), { recursive: true });
  await writeFile(`${RESULTS}.tmp`, `${JSON.stringify(results, undefined, 2)}\n`);
  await rename(`${RESULTS}.tmp`, RESULTS);
}
