import { readFileSync } from "node:fs";
import { spawn } from "@lydell/node-pty";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { openFaultProxy } from "../faults/support/fault-proxy.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv } from "../support/run-abx.js";

describeOnPlatform("abx connect", (platform) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    const { apiUrl, sandboxUrl, apiKey } = platform;
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
  });
  afterAll(() => sandbox.kill());

  /** A terminal of this machine in which a shell runs `abx connect` and then prints the terminal's settings. */
  const openTerminal = (sandboxId: string, env: Record<string, string> = {}) => {
    const line = `before=$(stty -g); "${process.execPath}" "${ABX}" connect ${sandboxId}; echo "status=$?"; [ "$before" = "$(stty -g)" ] && echo settings=same`;
    const terminal = spawn("bash", ["-c", line], {
      cols: 80,
      rows: 24,
      env: { ...platformEnv(platform), ...env, PATH: process.env.PATH, TERM: "xterm" },
    });
    let text = "";
    let wake: (() => void) | undefined;
    terminal.onData((data) => {
      text += data;
      wake?.();
    });
    const until = async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return text;
    };
    return { terminal, until };
  };

  it("CLI-10: types into the sandbox, forwards the window size, passes the status on and restores the terminal", async () => {
    const { terminal, until } = openTerminal(sandbox.sandboxId);
    await until(/\$ /);
    terminal.resize(101, 33);
    terminal.write(`until [ "$(stty size)" = "33 101" ]; do sleep 0.05; done; echo size''-arrived\r`);
    await until(/size-arrived/);
    terminal.write("exit 7\r");
    const text = await until(/settings=\w+/);
    expect(text).toContain("status=7");
    expect(text).toContain("settings=same");
  });

  it("CLI-10: gives Ctrl-C to the program inside", async () => {
    const { terminal, until } = openTerminal(sandbox.sandboxId);
    await until(/\$ /);
    terminal.write(`sh -c 'trap "echo got-interrupt; kill \\$!; exit" INT; echo wait""ing; sleep 1000 & wait'\r`);
    await until(/waiting/);
    terminal.write("\u0003");
    await until(/got-interrupt\r/);
    terminal.write("exit 0\r");
    expect(await until(/settings=\w+/)).toContain("status=0");
  });

  it("CLI-10: restores the terminal when the sandbox is killed", async () => {
    const { apiUrl, sandboxUrl, apiKey } = platform;
    const victim = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    const { until } = openTerminal(victim.sandboxId);
    await until(/\$ /);
    await victim.kill();
    const text = await until(/settings=\w+/);
    expect(text).toMatch(/status=5/);
    expect(text).toContain("settings=same");
  });

  it("CLI-10: survives cut connections: what was typed and the size arrive, nothing twice", async () => {
    await using proxy = await openFaultProxy(Number(new URL(platform.sandboxUrl).port));
    const { terminal, until } = openTerminal(sandbox.sandboxId, { AGENT_SANDBOX_SANDBOX_URL: proxy.url });
    await until(/\$ /);
    terminal.write("count=0\r");
    for (let round = 0; round < 5; round += 1) {
      proxy.resetAll();
      terminal.write("count=$((count+1))\r");
    }
    proxy.resetAll();
    terminal.resize(102, 34);
    terminal.write(`until [ "$(stty size)" = "34 102" ]; do sleep 0.05; done; echo count''ed $count\r`);
    expect(await until(/counted \d/)).toContain("counted 5");
    proxy.resetAll();
    terminal.write("exit 9\r");
    const text = await until(/settings=\w+/);
    expect(text).toContain("status=9");
    expect(text).toContain("settings=same");
  });

  it("CLI-10: restores the terminal when it is told to end while the network is gone", async () => {
    const proxy = await openFaultProxy(Number(new URL(platform.sandboxUrl).port));
    const { terminal, until } = openTerminal(sandbox.sandboxId, { AGENT_SANDBOX_SANDBOX_URL: proxy.url });
    await until(/\$ /);
    await proxy[Symbol.asyncDispose]();
    // The shell around it is the leader of the terminal's session and waits for it.
    const children = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, "utf8");
    process.kill(Number(children.trim().split(" ").at(-1)), "SIGTERM");
    const text = await until(/settings=\w+/);
    expect(text).toContain("status=143");
    expect(text).toContain("settings=same");
  });

  it("ends with status 4 for an unknown sandbox", async () => {
    const { until } = openTerminal("nosuchsandbox");
    expect(await until(/settings=\w+/)).toContain("status=4");
  });
});
