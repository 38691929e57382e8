// A function that runs in sandboxes, over a list of 100 items. Run it with: node examples/remote-map.ts
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { python, remote } from "@agent-sandbox/sdk/declarative";

interface Day {
  readonly date: Date;
  readonly high: number;
  readonly rain: number;
}

/** Runs in a sandbox: dates arrive as dates, a Map goes back as a Map, and what is imported above is there. */
const summarise = remote(
  async (days: readonly Day[]) => {
    const rainOfMonth = new Map<number, number>();
    for (const { date, rain } of days) rainOfMonth.set(date.getUTCMonth(), (rainOfMonth.get(date.getUTCMonth()) ?? 0) + rain);
    const warmest = days.reduce((most, day) => (day.high > most.high ? day : most));
    const checksum = createHash("sha256").update(JSON.stringify(days)).digest("hex").slice(0, 8);
    return { days: days.length, warmest, rainOfMonth, checksum, sandboxId: process.env.E2B_SANDBOX_ID };
  },
  { timeoutMs: 30_000 },
);

const statistics = python`
  import statistics

  def spread(values):
      return {"mean": statistics.fmean(values), "deviation": statistics.stdev(values)}
`;

const table = await readFile(new URL("../node_modules/vega-datasets/data/seattle-weather.csv", import.meta.url), "utf8");
const days: Day[] = table
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => line.split(","))
  .map(([date, rain, high]) => ({ date: new Date(`${date}T00:00:00Z`), high: Number(high), rain: Number(rain) }));
const parts = Array.from({ length: 100 }, (_, n) => days.slice((n * days.length) / 100, ((n + 1) * days.length) / 100));

const startedAt = performance.now();
const summaries = await summarise.map(parts, { concurrency: 4 });
const durationMs = performance.now() - startedAt;

const rainOfMonth = new Map<number, number>();
for (const part of summaries) for (const [month, rain] of part.rainOfMonth) rainOfMonth.set(month, (rainOfMonth.get(month) ?? 0) + rain);
const warmest = summaries.map((part) => part.warmest).reduce((most, day) => (day.high > most.high ? day : most));
const [wettestMonth = 0] = [...rainOfMonth].reduce((most, month) => (month[1] > most[1] ? month : most));
const { mean, deviation } = await statistics.call<{ mean: number; deviation: number }>(
  "spread",
  days.map((day) => day.high),
);

console.log(`items: ${summaries.length}, days: ${summaries.reduce((sum, part) => sum + part.days, 0)}`);
console.log(`sandboxes: ${new Set(summaries.map((part) => part.sandboxId)).size}`);
console.log(`warmest day: ${warmest.date.toISOString().slice(0, 10)} with ${warmest.high} °C`);
console.log(`wettest month: ${new Date(0, wettestMonth).toLocaleString("en", { month: "long" })}`);
console.log(`high: ${mean.toFixed(1)} ± ${deviation.toFixed(1)} °C`);
console.log(`took: ${Math.round(durationMs)} ms, ${Math.round(durationMs / summaries.length)} ms per item`);
