import dns from "node:dns";
import { afterAll, beforeAll, expect, it } from "vitest";
import { InvalidArgumentError, NotFoundError, Sandbox, TimeoutError } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

const size = { cols: 80, rows: 24 };

describeOnPlatform("terminals of a sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ ...connection, envs: { A: "1", CLASH: "sandbox" } });
  });
  afterAll(() => sandbox.kill());

  /** A shell that runs a line and ends, with all that it showed. */
  const run = async (line: string, options: Partial<Parameters<Sandbox["pty"]["create"]>[0]> = {}) => {
    let text = "";
    const decoder = new TextDecoder();
    const terminal = await sandbox.pty.create({
      ...size,
      ...options,
      onData: (data) => {
        text += decoder.decode(data, { stream: true });
      },
    });
    await terminal.sendInput(`${line}\n`);
    const outcome = await terminal.waitForOutcome();
    return { text, outcome };
  };

  it("PTY-01: the last line is always there", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { text, outcome } = await run("seq 1 20000; exit 5");
      // A login shell says goodbye behind it.
      expect(text).toMatch(/\r\n20000\r\n\D*$/);
      expect(outcome).toMatchObject({ exitCode: 5 });
    }
  });

  it("PTY-02: nothing comes after the end, and a slow reader loses nothing", async () => {
    let isOver = false;
    let lines = 0;
    const terminal = await sandbox.pty.create({
      ...size,
      onData: async (data) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        expect(isOver).toBe(false);
        lines += data.filter((byte) => byte === 10).length;
      },
    });
    await terminal.sendInput("stty -echo; PS1=; printf '\\n'; seq 1 5000; exit\n");
    await terminal.wait();
    isOver = true;
    expect(lines).toBeGreaterThanOrEqual(5_000);
  });

  it("PTY-03: a resize around the end is a typed error or nothing, and the daemon lives on", async () => {
    for (let round = 0; round < 10; round += 1) {
      const terminal = await sandbox.pty.create(size);
      await terminal.sendInput("exit\n");
      await terminal.resize({ cols: 99, rows: 9 }).catch((error: unknown) => expect(error).toBeInstanceOf(NotFoundError));
      await terminal.wait();
      await expect(sandbox.pty.resize(terminal.pid, { cols: 99, rows: 9 })).rejects.toBeInstanceOf(NotFoundError);
    }
    expect(await sandbox.isRunning()).toBe(true);
  });

  it("PTY-04: sizes outside of 1 to 65535 are refused, the others are seen inside", async () => {
    for (const side of [0, -1, 1.5, 65_536, Number.NaN, undefined as unknown as number]) {
      await expect(sandbox.pty.create({ cols: side, rows: 24 })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    expect((await run("stty size; exit", { cols: 65_535, rows: 1 })).text).toContain("1 65535");
  });

  it("PTY-05: the locale is UTF-8, the terminal has colours, and given values win", async () => {
    expect((await run('echo "[$TERM] $(locale charmap)"; exit')).text).toContain("[xterm-256color] UTF-8");
    expect((await run('echo "[$TERM]"; exit', { envs: Object.freeze({ TERM: "dumb" }) })).text).toContain("[dumb]");
    expect((await run("printf '\\342\\224\\214\\360\\237\\246\\212\\n'; exit")).text).toContain("┌🦊");
  });

  it("PTY-12: variables of the sandbox and of the terminal are seen, the terminal's win, cwd and user are honoured", async () => {
    const { text } = await run('echo "<$A $B $CLASH $PWD $(id -un)>"; exit', {
      envs: { B: "2", CLASH: "terminal" },
      cwd: "/tmp",
      user: "root",
    });
    expect(text).toContain("<1 2 terminal /tmp root>");
  });

  it("is gone with its sandbox: an error that says so, and no exit", async () => {
    const victim = await Sandbox.create(connection);
    const terminal = await victim.pty.create(size);
    await victim.kill();
    const failure = await terminal.wait().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure).toMatchObject({ timeout: "sandbox" });
  });
});

describeOnPlatform("a page", ({ apiUrl, sandboxUrl, apiKey }) => {
  let sandbox: Sandbox;
  const { lookup } = dns;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    // Browsers know that names below localhost are this machine; the resolver of many systems does not.
    dns.lookup = ((name: string, ...rest: unknown[]) =>
      Reflect.apply(lookup, dns, [name.endsWith(".localhost") ? "localhost" : name, ...rest])) as typeof lookup;
  });
  afterAll(async () => {
    dns.lookup = lookup;
    await sandbox.kill();
  });

  /** What a page has: the global class, no headers. */
  const open = (url: string) =>
    new Promise<{ socket: WebSocket; until(pattern: RegExp): Promise<string>; closed: Promise<number> }>((resolve, reject) => {
      const socket = new WebSocket(url);
      socket.binaryType = "arraybuffer";
      let text = "";
      let wake = () => {};
      socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        text += typeof data === "string" ? `${data}\n` : new TextDecoder().decode(data);
        wake();
      };
      const until = async (pattern: RegExp) => {
        while (!pattern.test(text)) {
          await new Promise<void>((next) => {
            wake = next;
          });
        }
        return text;
      };
      const closed = new Promise<number>((next) => {
        socket.onclose = ({ code }) => next(code);
      });
      socket.onopen = () => resolve({ socket, until, closed });
      socket.onerror = () => reject(new Error("refused"));
    });

  it("opens a new terminal by host name with a ticket, once, and types, resizes and sees the exit", async () => {
    const url = await sandbox.pty.webSocketUrl({ ...size, cwd: "/tmp" });
    expect(new URL(url).hostname).toBe(`49983-${sandbox.sandboxId}.localhost`);
    const page = await open(url);
    await page.until(/"type":"ready"/);
    page.socket.send(JSON.stringify({ type: "resize", cols: 111, rows: 44 }));
    await page.until(/"type":"resized"/);
    page.socket.send(new TextEncoder().encode('echo "$PWD $(stty size)"; exit 3\n'));
    const text = await page.until(/"type":"exit"/);
    expect(text).toContain("/tmp 44 111");
    expect(text).toContain('"outcome":"exited","exit_code":3');
    expect(await page.closed).toBe(1000);
    await expect(open(url)).rejects.toThrow("refused");
  });

  it("attaches to a running terminal and replays it", async () => {
    const terminal = await sandbox.pty.create(size);
    await terminal.sendInput("echo before-''the-page\n");
    const page = await open(`${await sandbox.pty.webSocketUrl(terminal.pid)}&from_offset=0`);
    await page.until(/before-the-page/);
    page.socket.send(JSON.stringify({ type: "kill" }));
    expect(await page.until(/"type":"exit"/)).toContain('"signal":"SIGKILL"');
    expect(await terminal.waitForOutcome()).toMatchObject({ exitCode: -1 });
  });

  it("cannot use a ticket in another sandbox, under another name, or without one", async () => {
    const other = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    const url = await sandbox.pty.webSocketUrl(size);
    await expect(open(url.replace(sandbox.sandboxId, other.sandboxId))).rejects.toThrow("refused");
    await expect(open(url.replace(/\?.*/, ""))).rejects.toThrow("refused");
    await expect(open(url.replace(/[^/]*\.localhost/, "evil.localhost"))).rejects.toThrow("refused");
    const page = await open(url);
    page.socket.close();
    await other.kill();
  });
});
