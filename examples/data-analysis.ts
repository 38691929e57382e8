// Analyse a table in a sandbox as an agent would: code in a kernel that keeps its state, data and a chart as results. The chart is saved as
// weather.png, or under the name that is given. Needs `abx setup --all` once; run it with `node examples/data-analysis.ts [file]`.
import { readFile, writeFile } from "node:fs/promises";
import { type BarChart, type LineChart, Sandbox } from "@agent-sandbox/sdk/code-interpreter";

const target = process.argv[2] ?? "weather.png";
const print = ({ text }: { readonly text: string }): void => void process.stdout.write(text);

const sandbox = await Sandbox.create({ timeoutMs: 300_000, metadata: { example: "data-analysis" } });
try {
  const weather = await readFile(new URL("../node_modules/vega-datasets/data/seattle-weather.csv", import.meta.url));
  await sandbox.files.write("/home/user/weather.csv", new Blob([weather]));

  // What this cell defines is there in the next ones.
  await run(`
import pandas as pd
days = pd.read_csv("weather.csv", parse_dates=["date"])
print(f"{len(days)} days from {days.date.min():%d.%m.%Y} to {days.date.max():%d.%m.%Y}")
`);

  // The value of the last expression is a data frame: text and HTML for people, columns for programs.
  const summary = await run(`
days.groupby(days.date.dt.year).agg(high=("temp_max", "mean"), rain=("precipitation", "sum")).round(1).reset_index()
`);
  const { date: years = [], rain = [] } = summary.results[0]?.data ?? {};
  const wettest = rain.indexOf(Math.max(...rain.map(Number)));
  console.log(`the wettest year was ${String(years[wettest])} with ${String(rain[wettest])} mm of rain`);

  // A figure comes as an image and as data.
  const figure = await run(`
import calendar
import matplotlib.pyplot as plt
months = days.set_index("date").resample("MS")
fig, (top, bottom) = plt.subplots(2, 1, figsize=(10, 6), sharex=False)
top.plot(months.temp_max.mean(), label="mean high")
top.plot(months.temp_min.mean(), label="mean low")
top.set_ylabel("Temperature (°C)")
top.legend()
bottom.bar(calendar.month_abbr[1:], days.groupby(days.date.dt.month).precipitation.mean())
bottom.set_ylabel("Rain (mm)")
fig.suptitle("Weather in Seattle")
plt.show()
`);
  const [chart] = figure.results;
  if (chart?.png === undefined) throw new Error("the code showed no figure");
  await writeFile(target, Buffer.from(chart.png, "base64"));
  if (chart.chart?.type === "superchart") {
    const [temperature, rainfall] = chart.chart.elements as readonly [LineChart, BarChart];
    const most = rainfall.elements.reduce((best, bar) => (Number(bar.value) > Number(best.value) ? bar : best));
    console.log(`${chart.chart.title}: ${temperature.elements.map(({ label }) => label).join(", ")} in ${temperature.y_unit}`);
    console.log(`most rain falls in ${most.label}: ${Number(most.value).toFixed(1)} ${rainfall.y_unit} a day`);
  }
  console.log(`the chart is in ${target}`);
} finally {
  await sandbox.kill();
}

/** Run code; an exception of the code ends the example. */
async function run(code: string) {
  const execution = await sandbox.runCode(code, { onStdout: print, onStderr: print });
  if (execution.error !== undefined) throw new Error(execution.error.traceback);
  return execution;
}
