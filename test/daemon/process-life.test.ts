import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ProcessEvent, StreamInputRequestSchema } from "../../gen/proto/process/process_pb.js";
import { bash, collect, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeAll(async () => {
  sandbox = await startTestDaemon();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const byPid = (pid: number) => ({ selector: { case: "pid" as const, value: pid } });
const byTag = (tag: string) => ({ selector: { case: "tag" as const, value: tag } });
const stdin = (text: string) => ({ input: { case: "stdin" as const, value: Buffer.from(text) } });

/** A started process whose stream is read on in the background, or was left. */
async function start(command: string, options: { tag?: string; stdin?: boolean; timeoutMs?: number } = {}) {
  const abort = new AbortController();
  const { timeoutMs, ...request } = options;
  const stream = sandbox.process.start(
    { process: bash(command), stdin: false, ...request },
    { signal: abort.signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
  );
  const iterator = stream[Symbol.asyncIterator]();
  const first = await iterator.next();
  const event = first.done ? undefined : first.value.event?.event;
  if (event?.case !== "start") throw new Error("the first event is not start");
  const rest = collect({ [Symbol.asyncIterator]: () => iterator });
  // Who leaves on purpose does not look at the result.
  rest.catch(() => {});
  return { pid: event.value.pid, rest, leave: () => abort.abort() };
}

async function codeOf(promise: Promise<unknown>): Promise<Code> {
  return promise.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => ConnectError.from(error).code,
  );
}

async function listedPids(): Promise<number[]> {
  return (await sandbox.process.list({})).processes.map(({ pid }) => pid);
}

describe("standard input", () => {
  it("CMD-14: is at its end when it is disabled", async () => {
    expect(await collect(sandbox.process.start({ process: { cmd: "cat" }, stdin: false }))).toMatchObject({
      exitCode: 0,
      stdout: Buffer.alloc(0),
    });
  });

  it("delivers input in order and ends with CloseStdin, which may be repeated", async () => {
    const cat = await start("exec cat", { stdin: true });
    await sandbox.process.sendInput({ process: byPid(cat.pid), input: stdin("one ") });
    await sandbox.process.sendInput({ process: byPid(cat.pid), input: stdin("two") });
    await sandbox.process.closeStdin({ process: byPid(cat.pid) });
    await sandbox.process.closeStdin({ process: byPid(cat.pid) }).catch(() => {});
    expect((await cat.rest).stdout.toString()).toBe("one two");
  });

  it("delivers 8 MiB to a slow reader, fully and without blocking the daemon", async () => {
    const reader = await start("sleep 0.3; wc -c", { stdin: true });
    const sent = sandbox.process.sendInput({
      process: byPid(reader.pid),
      input: { input: { case: "stdin", value: Buffer.alloc(8 << 20, 97) } },
    });
    expect((await sandbox.process.list({})).processes.length).toBeGreaterThan(0);
    await sent;
    await sandbox.process.closeStdin({ process: byPid(reader.pid) });
    expect((await reader.rest).stdout.toString().trim()).toBe(String(8 << 20));
  });

  it("takes a stream of input", async () => {
    const cat = await start("exec cat", { stdin: true });
    await sandbox.process.streamInput(
      (async function* (): AsyncGenerator<MessageInitShape<typeof StreamInputRequestSchema>> {
        yield { event: { case: "start" as const, value: { process: byPid(cat.pid) } } };
        yield { event: { case: "keepalive" as const, value: {} } };
        for (const text of ["a", "b", "c"]) yield { event: { case: "data" as const, value: { input: stdin(text) } } };
      })(),
    );
    await sandbox.process.closeStdin({ process: byPid(cat.pid) });
    expect((await cat.rest).stdout.toString()).toBe("abc");
  });

  it("refuses the wrong kind, a disabled and a closed input, and no input at all", async () => {
    const sleeper = await start("exec sleep 20", { stdin: true });
    const silent = await start("exec sleep 20");
    const send = (pid: number, input: object) => codeOf(sandbox.process.sendInput({ process: byPid(pid), input }));
    expect(await send(sleeper.pid, { input: { case: "pty", value: Buffer.from("x") } })).toBe(Code.Internal);
    expect(await send(silent.pid, stdin("x"))).toBe(Code.Internal);
    expect(await send(sleeper.pid, {})).toBe(Code.Unimplemented);
    await sandbox.process.closeStdin({ process: byPid(sleeper.pid) });
    expect(await send(sleeper.pid, stdin("x"))).toBe(Code.Internal);
    for (const { pid } of [sleeper, silent]) await sandbox.process.sendSignal({ process: byPid(pid), signal: 9 });
    await Promise.all([sleeper.rest, silent.rest]);
  });

  it("reports bytes that a process refused to read", async () => {
    const closer = await start("exec 0<&-; echo closed; exec sleep 20", { stdin: true });
    const error = await codeOf(
      sandbox.process.sendInput({ process: byPid(closer.pid), input: { input: { case: "stdin", value: Buffer.alloc(1 << 20) } } }),
    );
    expect(error).toBe(Code.Internal);
    await sandbox.process.sendSignal({ process: byPid(closer.pid), signal: 9 });
    await closer.rest;
  });
});

describe("selectors", () => {
  it("CMD-38: each tag reaches its own process; an equal tag means the youngest", async () => {
    const tags = ["a", "b", "c", "d", "e"];
    const cats = new Map<string, Awaited<ReturnType<typeof start>>>();
    for (const tag of tags) cats.set(tag, await start("exec cat", { tag, stdin: true }));
    const twin = await start("exec cat", { tag: "a", stdin: true });
    for (const tag of tags) await sandbox.process.sendInput({ process: byTag(tag), input: stdin(tag) });
    for (const tag of tags) await sandbox.process.closeStdin({ process: byTag(tag) });
    expect((await twin.rest).stdout.toString()).toBe("a");
    for (const tag of tags.slice(1)) expect((await cats.get(tag)?.rest)?.stdout.toString()).toBe(tag);
    await sandbox.process.sendSignal({ process: byTag("a"), signal: 15 });
    expect(await cats.get("a")?.rest).toMatchObject({ status: "signal: terminated", stdout: Buffer.alloc(0) });
  });

  it("answers not_found for the unknown and unimplemented for the empty", async () => {
    const calls = [
      (process: object) => sandbox.process.sendSignal({ process, signal: 9 }),
      (process: object) => sandbox.process.sendInput({ process, input: stdin("x") }),
      (process: object) => sandbox.process.closeStdin({ process }),
      (process: object) => sandbox.process.update({ process }),
      (process: object) => collect(sandbox.process.connect({ process })),
    ];
    for (const call of calls) {
      expect(await codeOf(call(byPid(999_999)))).toBe(Code.NotFound);
      expect(await codeOf(call(byTag("nobody-has-this")))).toBe(Code.NotFound);
      expect(await codeOf(call({}))).toBe(Code.Unimplemented);
    }
  });

  it("lists what runs with its configuration", async () => {
    const sleeper = await start("exec sleep 20", { tag: "listed" });
    const found = (await sandbox.process.list({})).processes.find(({ pid }) => pid === sleeper.pid);
    expect(found).toMatchObject({ tag: "listed", config: bash("exec sleep 20") });
    await sandbox.process.sendSignal({ process: byPid(sleeper.pid), signal: 9 });
    await sleeper.rest;
    expect(await listedPids()).not.toContain(sleeper.pid);
  });
});

describe("signals", () => {
  it("kills the whole group", async () => {
    const parent = await start("sleep 47 & sleep 47; true");
    await sandbox.process.sendSignal({ process: byPid(parent.pid), signal: 9 });
    expect(await parent.rest).toMatchObject({ status: "signal: killed" });
    const running = async () =>
      (await collect(sandbox.process.start({ process: bash(`pgrep -r R,S,D -g ${parent.pid}; true`), stdin: false }))).stdout;
    await expect.poll(async () => (await running()).toString()).toBe("");
  });

  it("refuses a signal that the wire does not have", async () => {
    const sleeper = await start("exec sleep 20");
    expect(await codeOf(sandbox.process.sendSignal({ process: byPid(sleeper.pid), signal: 0 }))).toBe(Code.Unimplemented);
    await sandbox.process.sendSignal({ process: byPid(sleeper.pid), signal: 15 });
    await sleeper.rest;
  });
});

describe("deadlines", () => {
  it("kill the process and end its starter's stream with deadline_exceeded", async () => {
    const sleeper = await start("printf begun; exec sleep 20", { timeoutMs: 300 });
    expect(await codeOf(sleeper.rest)).toBe(Code.DeadlineExceeded);
    await expect.poll(listedPids).not.toContain(sleeper.pid);
  });

  it("bind a grandchild that keeps the output open after the program exited", async () => {
    const parent = await start("sleep 20 & exit 0", { timeoutMs: 400 });
    expect(await codeOf(parent.rest)).toBe(Code.DeadlineExceeded);
    await expect.poll(listedPids).not.toContain(parent.pid);
  });

  it("survive the client that set them", async () => {
    const sleeper = await start("exec sleep 20", { timeoutMs: 500 });
    sleeper.leave();
    expect(await collect(sandbox.process.connect({ process: byPid(sleeper.pid) }))).toMatchObject({ status: "signal: killed" });
  });

  it("of Connect end only that stream", async () => {
    const sleeper = await start("exec sleep 20");
    const follower = collect(sandbox.process.connect({ process: byPid(sleeper.pid) }, { timeoutMs: 200 }));
    expect(await codeOf(follower)).toBe(Code.DeadlineExceeded);
    expect(await listedPids()).toContain(sleeper.pid);
    await sandbox.process.sendSignal({ process: byPid(sleeper.pid), signal: 9 });
    await sleeper.rest;
  });

  it.each([["0"], ["5000000000"]])("CMD-19: %s ms never fires early", async (timeout) => {
    const result = await collect(
      sandbox.process.start({ process: bash("sleep 0.1; echo done"), stdin: false }, { headers: { "connect-timeout-ms": timeout } }),
    );
    expect(result.stdout.toString()).toBe("done\n");
    await sandbox.process.list({}, { headers: { "connect-timeout-ms": timeout } });
  });

  it.each([["abc"], ["-1"], ["1.5"]])("CMD-19: %s ms is refused", async (timeout) => {
    const call = collect(sandbox.process.start({ process: bash("true") }, { headers: { "connect-timeout-ms": timeout } }));
    expect(await codeOf(call)).toBe(Code.InvalidArgument);
  });
});

describe("Connect", () => {
  it("CMD-20: follows from now on and learns the exit", async () => {
    const ticker = await start("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; exit 5");
    ticker.leave();
    const followed = await collect(sandbox.process.connect({ process: byPid(ticker.pid) }));
    expect(followed.events[0]).toBe("start");
    expect(followed).toMatchObject({ pid: ticker.pid, exitCode: 5 });
    expect(followed.stdout.toString()).toMatch(/6\n$/);
  });

  it("CMD-21: learns the exit of a process that just ended, by pid and by tag", async () => {
    const ended = await start("exit 7", { tag: "short" });
    await ended.rest;
    for (const process of [byPid(ended.pid), byTag("short")]) {
      expect(await collect(sandbox.process.connect({ process }))).toMatchObject({ events: ["start", "end"], exitCode: 7 });
    }
  });

  it("gives every follower all events from its start on", async () => {
    const cat = await start("exec cat", { stdin: true });
    const starts: Promise<unknown>[] = [];
    const followers = Array.from({ length: 5 }, () => {
      let begun: () => void = () => {};
      starts.push(new Promise<void>((resolve) => (begun = resolve)));
      return collect(
        sandbox.process.connect({ process: byPid(cat.pid) }),
        ({ event }: ProcessEvent) => void (event.case === "start" && begun()),
      );
    });
    await Promise.all(starts);
    await sandbox.process.sendInput({ process: byPid(cat.pid), input: stdin("for all") });
    await sandbox.process.closeStdin({ process: byPid(cat.pid) });
    for (const follower of await Promise.all(followers)) expect(follower.stdout.toString()).toBe("for all");
  });

  it("keeps a silent stream alive at the asked interval", async () => {
    const sleeper = await start("exec sleep 1.2");
    const followed = await collect(
      sandbox.process.connect({ process: byPid(sleeper.pid) }, { headers: { "keepalive-ping-interval": "0.2" } }),
    );
    expect(followed.events.filter((event) => event === "keepalive").length).toBeGreaterThanOrEqual(2);
  });
});
