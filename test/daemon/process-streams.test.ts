import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bash, collect, frame, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeAll(async () => {
  sandbox = await startTestDaemon();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const byPid = (pid: number) => ({ selector: { case: "pid" as const, value: pid } });
const kill = (pid: number) => sandbox.process.sendSignal({ process: byPid(pid), signal: 9 });

/** Start over plain HTTP, so that the test holds the socket. Resolves with the first bytes of the answer. */
function openRawStart(command: string): Promise<{ pid: number; destroy: () => void; resume: () => void }> {
  return new Promise((resolve, reject) => {
    const call = request(`${sandbox.baseUrl}/process.Process/Start`, {
      method: "POST",
      agent: false,
      headers: { "content-type": "application/connect+json" },
    });
    call.on("error", reject);
    call.on("response", (response) => {
      response.on("error", () => {});
      response.once("data", (chunk: Buffer) => {
        response.pause();
        const pid = Number(/"pid":(\d+)/.exec(chunk.toString())?.[1]);
        resolve({ pid, destroy: () => response.destroy(), resume: () => response.resume() });
      });
    });
    call.end(frame(JSON.stringify({ process: bash(command), stdin: false })));
  });
}

/** Send raw bytes; resolves with everything until the peer closed or `until` matched. */
function exchange(bytes: Buffer, until: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(sandbox.port, "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (until.test(text)) socket.destroy();
    });
    socket.setTimeout(10_000, () => {
      socket.destroy();
      reject(new Error(`no answer, got: ${text}`));
    });
  });
}

const postHead = (path: string, type: string, extra = "") => `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${extra}`;

describe("readers that leave or stall", () => {
  it("CMD-08: destroying 100 sockets at random moments touches neither daemon nor processes", async () => {
    const pids = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { pid, destroy, resume } = await openRawStart("exec {idle}<> <(:); while :; do echo chatter; read -rt 0.02 -u $idle; done");
        resume();
        await new Promise((resolve) => setTimeout(resolve, (index * 7) % 50));
        destroy();
        return pid;
      }),
    );
    const listed = new Set((await sandbox.process.list({})).processes.map(({ pid }) => pid));
    expect(pids.every((pid) => listed.has(pid))).toBe(true);
    await Promise.all(pids.map(kill));
    await expect.poll(async () => (await sandbox.process.list({})).processes.length).toBe(0);
  });

  it("CMD-09: aborting a Start within milliseconds leaves nothing half registered", async () => {
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const abort = new AbortController();
        setTimeout(() => abort.abort(), index % 6);
        await collect(sandbox.process.start({ process: bash("sleep 0.2"), stdin: false }, { signal: abort.signal })).catch(() => {});
      }),
    );
    await expect.poll(async () => (await sandbox.process.list({})).processes.length, { timeout: 10_000 }).toBe(0);
  });

  it("CMD-05: a process without readers is never blocked and its output costs bounded memory", async () => {
    const noisy = await openRawStart("head -c 50000000 /dev/zero; exit 4");
    noisy.destroy();
    const process = sandbox.daemon.processes.find({ case: "pid", value: noisy.pid });
    const end = await collect(sandbox.process.connect({ process: byPid(noisy.pid) }));
    expect(end.exitCode).toBe(4);
    expect(process.log.endOffset).toBe(50_000_000);
    expect(process.log.heldBytes).toBeLessThanOrEqual(4 * 1024 * 1024 + 64 * 1024);
  });

  it("100 processes run at once, each with its own output", async () => {
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        collect(sandbox.process.start({ process: { cmd: "sh", args: ["-c", `echo ${index}; sleep 1`] }, stdin: false })),
      ),
    );
    expect(results.map(({ stdout }) => stdout.toString())).toEqual(Array.from({ length: 100 }, (_, index) => `${index}\n`));
  });

  it("a lone reader that stalls holds up the process on its own pipe and loses nothing", async () => {
    const stalled = await openRawStart("head -c 20000000 /dev/zero; exit 4");
    const process = sandbox.daemon.processes.find({ case: "pid", value: stalled.pid });
    await expect.poll(() => process.log.endOffset).toBeGreaterThan(1024 * 1024);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(process.log.endOffset).toBeLessThan(20_000_000);
    stalled.resume();
    const end = await collect(sandbox.process.connect({ process: byPid(stalled.pid) }));
    expect(end.exitCode).toBe(4);
    expect(process.log.endOffset).toBe(20_000_000);
  });

  it("STR-09: 200 abandoned streams leave no reader behind and a unary call is immediate", async () => {
    const sleeper = await openRawStart("exec sleep 60");
    await Promise.all(
      Array.from({ length: 200 }, async () => {
        const abort = new AbortController();
        await collect(sandbox.process.connect({ process: byPid(sleeper.pid) }, { signal: abort.signal }), () => abort.abort()).catch(
          () => {},
        );
      }),
    );
    const started = performance.now();
    await sandbox.process.list({});
    expect(performance.now() - started).toBeLessThan(1_000);
    await kill(sleeper.pid);
    await expect
      .poll(() => new Promise<number>((resolve) => sandbox.daemon.server.getConnections((_e, count) => resolve(count))))
      .toBeLessThan(20);
  });
});

describe("frames", () => {
  it("STR-17: a frame that claims 4 GiB is refused at once", async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${postHead("/process.Process/Start", "application/connect+proto", "transfer-encoding: chunked\r\n\r\n")}9\r\n`),
      Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
      Buffer.from("\r\n"),
    ]);
    expect(await exchange(bytes, /resource_exhausted/)).toMatch(/resource_exhausted/);
  });

  it("STR-17: a compressed frame without an encoding is refused", async () => {
    const body = Buffer.concat([Buffer.from([1, 0, 0, 0, 4]), Buffer.from("bomb")]);
    const bytes = Buffer.concat([
      Buffer.from(postHead("/process.Process/Start", "application/connect+proto", `content-length: ${body.length}\r\n\r\n`)),
      body,
    ]);
    expect(await exchange(bytes, /"error"/)).toMatch(/"error"/);
  });

  it("STR-17: a unary message above 64 MiB is refused without reading it", async () => {
    const bytes = Buffer.from(postHead("/process.Process/List", "application/proto", "content-length: 70000000\r\n\r\n"));
    expect(await exchange(Buffer.concat([bytes, Buffer.alloc(1024)]), /resource_exhausted/)).toMatch(/429|resource_exhausted/);
    // What tests before this one killed may still be ending.
    await expect.poll(async () => (await sandbox.process.list({})).processes).toEqual([]);
  });

  it("STR-05: fields, cases and enum values of a newer peer are ignored", async () => {
    const call = (rpc: string, body: unknown, type: string) =>
      fetch(`${sandbox.baseUrl}/process.Process/${rpc}`, {
        method: "POST",
        headers: { "content-type": type },
        body: type.includes("connect") ? frame(JSON.stringify(body)) : JSON.stringify(body),
      });
    expect((await call("List", { future: { a: [1] } }, "application/json")).status).toBe(200);
    const signal = await call("SendSignal", { process: { pid: 1 }, signal: "SIGNAL_FROM_THE_FUTURE" }, "application/json");
    expect(signal.status).toBe(404);
    const started = await call(
      "Start",
      { process: { ...bash("echo hi"), niceness: 3 }, stdin: false, future: true },
      "application/connect+json",
    );
    expect(await started.text()).toContain('"exited":true');
  });

  it("STR-15: the start event and each small output arrive at once", async () => {
    // Each byte of output is the answer to a line of input, so one that was held back would stop the exchange.
    let bytes = 0;
    let pid = 0;
    for await (const { event } of sandbox.process.start({ process: bash("while read -r _; do printf x; done"), stdin: true })) {
      const kind = event?.event;
      if (kind?.case === "start") pid = kind.value.pid;
      if (kind?.case === "data") bytes += 1;
      if (kind?.case !== "start" && kind?.case !== "data") continue;
      if (bytes === 5) await sandbox.process.closeStdin({ process: byPid(pid) });
      else await sandbox.process.sendInput({ process: byPid(pid), input: { input: { case: "stdin", value: Buffer.from("\n") } } });
    }
    expect(bytes).toBe(5);
  });
});
