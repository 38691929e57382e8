// One sandbox from birth to death, on this machine, with no account. Run it with `make demo`.
import { readFile, readlink } from "node:fs/promises";
import { Sandbox } from "@agent-sandbox/sdk";

const ANALYSIS = `
import csv, json, statistics
from collections import defaultdict

by_year = defaultdict(list)
with open("/home/user/weather.csv", newline="") as table:
    for row in csv.DictReader(table):
        by_year[row["date"][:4]].append(row)

summary = {}
for year, days in sorted(by_year.items()):
    warmest = max(days, key=lambda day: float(day["temp_max"]))
    summary[year] = {
        "days": len(days),
        "mean_high": round(statistics.fmean(float(day["temp_max"]) for day in days), 1),
        "rain_mm": round(sum(float(day["precipitation"]) for day in days), 1),
        "warmest": warmest["date"],
    }
    print(year, *(f"{name}={value}" for name, value in summary[year].items()), flush=True)

with open("/home/user/summary.json", "w") as result:
    json.dump(summary, result)
`;

const steps: { readonly name: string; readonly ms: number }[] = [];

/** Run one step, print what it returns and remember how long it took. */
async function step<T>(name: string, action: () => Promise<T>): Promise<T> {
  console.log(`\n── ${name}`);
  const startedAt = performance.now();
  const result = await action();
  steps.push({ name, ms: performance.now() - startedAt });
  return result;
}

const sandbox = await step("create a sandbox", () => Sandbox.create({ timeoutMs: 120_000, metadata: { example: "quickstart" } }));
console.log(sandbox.sandboxId);

try {
  const { commands, files, pty } = sandbox;
  const print = (text: string): void => void process.stdout.write(text);

  await step("uname -a", () => commands.run("uname -a", { onStdout: print }));
  await step("id", () => commands.run("id", { onStdout: print }));

  await step("write a program and 1461 days of weather", async () => {
    const weather = await readFile(new URL("../node_modules/vega-datasets/data/seattle-weather.csv", import.meta.url));
    await files.write("/home/user/weather.csv", new Blob([weather]));
    const { path } = await files.write("/home/user/analyse.py", ANALYSIS);
    console.log(path);
  });

  await step("run it and stream its output", () => commands.run("python3 /home/user/analyse.py", { onStdout: print }));

  await step("read its result back", async () => {
    const summary = JSON.parse(await files.read("/home/user/summary.json")) as Record<string, { rain_mm: number }>;
    const wettest = Object.entries(summary).reduce((most, year) => (year[1].rain_mm > most[1].rain_mm ? year : most));
    console.log(`the wettest year was ${wettest[0]} with ${wettest[1].rain_mm} mm`);
  });

  await step("open a terminal and type into it", async () => {
    const decoder = new TextDecoder();
    const terminal = await pty.create({
      cols: 80,
      rows: 24,
      envs: { PS1: "sandbox$ " },
      onData: (bytes) => print(decoder.decode(bytes, { stream: true })),
    });
    await pty.sendInput(terminal.pid, new TextEncoder().encode("tty; stty size; exit\n"));
    await terminal.wait();
  });

  await step("list sandboxes", async () => {
    for (const info of await Sandbox.list().nextItems()) {
      console.log(info.sandboxId, info.state, info.name ?? info.templateId, info.startedAt.toISOString());
    }
  });

  await step("what separates it from this machine", async () => {
    const facts = await commands.run(
      [
        'awk \'{ print "root inside is user " $2 " of the host" }\' /proc/self/uid_map | head -1',
        'echo "processes it sees: $(ls -d /proc/[0-9]* | wc -l)"',
        'echo "network interfaces: $(ls /sys/class/net 2>/dev/null | tr "\\n" " ")"',
        'awk \'/^Seccomp:/ { print "system call filter: " ($2 == 2 ? "on" : "off") }\' /proc/self/status',
      ].join("; "),
    );
    console.log(facts.stdout.trimEnd());
    console.log(`own namespaces: ${await ownNamespaces()}`);
  });
} finally {
  await step("kill it", async () => console.log((await sandbox.kill()) ? "gone" : "was gone already"));
}

console.log("\nstep                                        ms");
for (const { name, ms } of steps) console.log(`${name.padEnd(40)}${ms.toFixed(1).padStart(8)}`);

/** Names of the kernel namespaces that the sandbox does not share with this process. */
async function ownNamespaces(): Promise<string> {
  const names = ["user", "pid", "mnt", "ipc", "uts", "net", "cgroup"];
  const inside = await sandbox.commands.run(`cd /proc/self/ns && readlink ${names.join(" ")}`);
  const links = inside.stdout.trim().split("\n");
  const here = await Promise.all(names.map((name) => readlink(`/proc/self/ns/${name}`)));
  return names.filter((_, index) => links[index] !== here[index]).join(" ");
}
