import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ProcessEvent, ProcessService } from "../../gen/proto/agentsandbox/process/v1/process_pb.js";
import { bash, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const client = () => daemon.client(ProcessService);
const newId = () => crypto.randomUUID();

interface Seen {
  readonly pid: number;
  readonly bytes: Buffer;
  readonly startOffset: number;
  readonly gapBytes: number;
  readonly ended: Extract<ProcessEvent["event"], { case: "ended" }>["value"] | undefined;
}

/** Read a stream until it ends or `enough` says so. */
async function read(
  open:
    | AsyncIterable<{ event?: ProcessEvent | undefined }>
    | ((signal: AbortSignal) => AsyncIterable<{ event?: ProcessEvent | undefined }>),
  enough: (bytes: number) => boolean = () => false,
): Promise<Seen> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let expected = -1;
  const seen = { pid: 0, startOffset: -1, gapBytes: 0, ended: undefined as Seen["ended"] };
  const abort = new AbortController();
  const stream = typeof open === "function" ? open(abort.signal) : open;
  for await (const { event } of stream) {
    const kind = event?.event;
    if (kind?.case === "started") {
      seen.pid = kind.value.pid;
      seen.startOffset = expected = Number(kind.value.offset);
    } else if (kind?.case === "gap") seen.gapBytes += Number(kind.value.missingBytes);
    else if (kind?.case === "output") {
      const data = kind.value.data.value ?? new Uint8Array();
      expect(Number(kind.value.offset)).toBe(expected);
      expected += data.length;
      parts.push(data);
      size += data.length;
    } else if (kind?.case === "ended") seen.ended = kind.value;
    if (enough(size)) {
      abort.abort();
      break;
    }
  }
  return { ...seen, bytes: Buffer.concat(parts) };
}

describe("Start", () => {
  it("that was killed by its id before it came is refused, and one under way is awaited and killed", async () => {
    const startId = newId();
    const kill = (value: string) => client().sendSignal({ process: { selector: { case: "startId", value } }, signal: "SIGKILL" });
    await expect(kill(startId)).rejects.toMatchObject({ code: Code.NotFound });
    await expect(read(client().start({ startId, ...bash("true") }))).rejects.toMatchObject({ code: Code.Aborted });
    for (let round = 0; round < 20; round++) {
      const id = newId();
      const started = read(client().start({ startId: id, ...bash("exec sleep 4751") })).catch((error: unknown) => error);
      await kill(id).catch(() => undefined);
      const outcome = await started;
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: Code.Aborted });
      else expect(outcome).toMatchObject({ ended: { outcome: { case: "signaled" } } });
    }
  });

  it("of one id starts one process however often it is called, and each call follows it from its offset", async () => {
    const startId = newId();
    const marker = `${daemon.directory}/starts`;
    const request = { startId, ...bash(`echo x >> ${marker}; for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; exit 3`) };
    const streams = await Promise.all([0, 0, 0].map((fromOffset) => read(client().start({ ...request, fromOffset: BigInt(fromOffset) }))));
    expect(new Set(streams.map(({ pid }) => pid)).size).toBe(1);
    for (const { bytes, ended } of streams) {
      expect(bytes.toString()).toBe("1\n2\n3\n4\n5\n");
      expect(ended?.outcome).toEqual({ case: "exited", value: 3 });
      expect(ended?.outputBytes).toBe(10n);
    }
    const again = await read(client().start({ ...request, fromOffset: 4n }));
    expect(again).toMatchObject({ startOffset: 4, gapBytes: 0 });
    expect(again.bytes.toString()).toBe("3\n4\n5\n");
    expect(readFileSync(marker, "utf8")).toBe("x\n");
  });

  it("refuses an id of another program, a malformed one and an offset beyond the output", async () => {
    const startId = newId();
    await read(client().start({ startId, ...bash("true") }));
    await expect(read(client().start({ startId, ...bash("false") }))).rejects.toMatchObject({ code: Code.AlreadyExists });
    await expect(read(client().start({ startId: "short", ...bash("true") }))).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(read(client().start({ startId, ...bash("true"), fromOffset: 1n }))).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("of an id whose program cannot be started leaves the id free", async () => {
    const startId = newId();
    await expect(read(client().start({ startId, cmd: "/no/such" }))).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect((await read(client().start({ startId, ...bash("true") }))).ended?.outcome).toEqual({ case: "exited", value: 0 });
  });

  it("says how a process ended: by itself, by a signal, by its time", async () => {
    const outcomes = await Promise.all(
      [{ ...bash("exit 255") }, { ...bash("kill -USR1 $$; sleep 9") }, { ...bash("echo a; sleep 60 & wait"), timeoutMs: 300 }].map(
        async (request) => (await read(client().start(request))).ended?.outcome,
      ),
    );
    expect(outcomes).toMatchObject([
      { case: "exited", value: 255 },
      { case: "signaled", value: "SIGUSR1" },
      { case: "timedOut", value: { timeoutMs: 300 } },
    ]);
  });

  it("its deadline holds when the client is away", async () => {
    const marker = `${daemon.directory}/survived`;
    const seen = await read(
      (signal) => client().start({ ...bash(`echo go; sleep 1; touch ${marker}`), timeoutMs: 400 }, { signal }),
      (size) => size > 0,
    );
    const end = await read(client().attach({ process: { selector: { case: "pid", value: seen.pid } }, fromOffset: 0n }));
    expect(end.bytes.toString()).toBe("go\n");
    expect(end.ended?.outcome.case).toBe("timedOut");
    expect(existsSync(marker)).toBe(false);
  });
});

describe("Attach", () => {
  it("continues at any offset of a process that either service started, also after its end", async () => {
    let pid = 0;
    for await (const { event } of daemon.process.start({ process: bash("printf 0123456789") })) {
      if (event?.event.case === "start") pid = event.event.value.pid;
    }
    for (const from of [0, 3, 10]) {
      const seen = await read(client().attach({ process: { selector: { case: "pid", value: pid } }, fromOffset: BigInt(from) }));
      expect(seen.bytes.toString()).toBe("0123456789".slice(from));
      expect(seen).toMatchObject({ startOffset: from, gapBytes: 0, ended: { outputBytes: 10n } });
    }
    const fromNow = await read(client().attach({ process: { selector: { case: "pid", value: pid } } }));
    expect(fromNow).toMatchObject({ startOffset: 10, gapBytes: 0 });
  });

  it("a process that floods its output waits for a reader that was cut off, so nothing is missing", async () => {
    const startId = newId();
    const flood = "yes 0123456789abcde | head -c";
    const request = { startId, ...bash(`${flood} 1000000; read x; ${flood} 29000000`), stdin: true };
    const first = await read(
      (signal) => client().start(request, { signal }),
      (bytes) => bytes > 500_000,
    );
    const process = daemon.daemon.processes.findRecent({ case: "pid", value: first.pid });
    await expect.poll(() => process.log.endOffset).toBe(1_000_000);
    await client().sendInput({ process: { selector: { case: "startId", value: startId } }, data: Buffer.from("\n") });
    await expect.poll(() => process.log.heldBytes).toBeGreaterThan(4 * 1024 * 1024);
    const rest = await read(client().start({ ...request, fromOffset: BigInt(first.bytes.length) }));
    expect(rest).toMatchObject({ startOffset: first.bytes.length, gapBytes: 0, ended: { outputBytes: 30_000_000n } });
    const all = Buffer.concat([first.bytes, rest.bytes]);
    expect(all.equals(Buffer.from("0123456789abcde\n".repeat(30_000_000 / 16)))).toBe(true);
  });

  it("when the reader stays away the process goes on, and the gap is counted exactly", async () => {
    const startId = newId();
    const total = 20_000_000;
    const request = { startId, ...bash(`yes 0123456789abcde | head -c ${total}`) };
    const first = await read(
      (signal) => client().start(request, { signal }),
      (bytes) => bytes > 0,
    );
    const process = daemon.daemon.processes.findRecent({ case: "pid", value: first.pid });
    await expect.poll(() => process.exit, { timeout: 20_000 }).toEqual({ kind: "exited", code: 0 });
    expect(process.log.heldBytes).toBeLessThanOrEqual(4 * 1024 * 1024 + 64 * 1024);
    const rest = await read(client().start({ ...request, fromOffset: BigInt(first.bytes.length) }));
    expect(rest.gapBytes).toBeGreaterThan(0);
    expect(rest.startOffset).toBe(first.bytes.length + rest.gapBytes);
    expect(first.bytes.length + rest.gapBytes + rest.bytes.length).toBe(total);
    expect(rest.ended?.outputBytes).toBe(BigInt(total));
  });

  it("an unknown process is not found", async () => {
    for (const selector of [
      { case: "pid", value: 4_000_000 },
      { case: "tag", value: "none" },
      { case: "startId", value: newId() },
    ] as const) {
      await expect(read(client().attach({ process: { selector } }))).rejects.toMatchObject({ code: Code.NotFound });
    }
    await expect(read(client().attach({}))).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("200 readers of one process all get the same", async () => {
    const startId = newId();
    const first = read(client().start({ startId, ...bash("read x; for i in $(seq 1 500); do echo line $i; done"), stdin: true }));
    await expect.poll(() => daemon.daemon.processes.list().some(({ description }) => description.startId === startId)).toBe(true);
    const process = { selector: { case: "startId", value: startId } } as const;
    const others = Array.from({ length: 199 }, () => read(client().attach({ process, fromOffset: 0n })));
    await delay(50);
    await client().sendInput({ process, data: Buffer.from("go\n"), close: true });
    const transcripts = new Set((await Promise.all([first, ...others])).map(({ bytes }) => bytes.toString()));
    expect(transcripts.size).toBe(1);
    expect([...transcripts][0]?.split("\n")).toHaveLength(501);
  });
});

describe("SendInput", () => {
  it("of one id is delivered once, however often and however early it is repeated, and other writers append", async () => {
    const startId = newId();
    const output = read(client().start({ startId, ...bash("cat"), stdin: true }));
    const process = { selector: { case: "startId", value: startId } } as const;
    await expect.poll(() => daemon.daemon.processes.list().some(({ description }) => description.startId === startId)).toBe(true);
    const send = (inputId: string, text: string) => client().sendInput({ process, inputId, data: Buffer.from(text) });
    const ids = [newId(), newId(), newId()];
    for (const [index, id] of ids.entries()) {
      await Promise.all([send(id, `${index}`), send(id, `${index}`)]);
      await send("", "+");
      await send(id, `${index}`);
    }
    const last = { process, inputId: newId(), data: Buffer.from("!"), close: true };
    expect(await client().sendInput(last)).toMatchObject({ inputBytes: 7n });
    expect((await output).bytes.toString()).toBe("0+1+2+!");
    // Its first call may have ended the program; that is no reason for a repetition to fail.
    expect(await client().sendInput(last)).toMatchObject({ inputBytes: 7n });
    await expect(client().sendInput({ ...last, inputId: newId() })).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("is refused without an open input, and for a closed one", async () => {
    const without = await read(
      (signal) => client().start(bash("echo; sleep 2"), { signal }),
      (size) => size > 0,
    );
    const process = { selector: { case: "pid", value: without.pid } } as const;
    await expect(client().sendInput({ process, data: Buffer.from("x") })).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await client().sendSignal({ process, signal: "SIGKILL" });
    const open = await read(
      (signal) => client().start({ ...bash("echo; sleep 2"), stdin: true }, { signal }),
      (size) => size > 0,
    );
    const other = { selector: { case: "pid", value: open.pid } } as const;
    await client().sendInput({ process: other, close: true });
    await expect(client().sendInput({ process: other, data: Buffer.from("x") })).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await client().sendSignal({ process: other, signal: "SIGKILL" });
  });
});

describe("SendSignal", () => {
  it("reaches the whole group with any POSIX signal, and only one that ends output ends it", async () => {
    const startId = newId();
    const process = { selector: { case: "startId", value: startId } } as const;
    // Only built-ins run: a program of the group that does not trap the signal would die, and the shell would tell so.
    const wait = "while :; do read -t 0.02 x <&3; done";
    const script = `exec 2>/dev/null 3<> <(:); trap 'echo parent' USR2; (trap 'echo child' USR2; echo ready; ${wait}) & echo ready; ${wait}`;
    const output = read(client().start({ startId, ...bash(script) }));
    const length = () => daemon.daemon.processes.find({ case: "startId", value: startId }).log.endOffset;
    await expect.poll(() => daemon.daemon.processes.list().some(({ description }) => description.startId === startId)).toBe(true);
    await expect.poll(length).toBe("ready\nready\n".length);
    await client().sendSignal({ process, signal: "SIGUSR2" });
    await expect.poll(length).toBe("ready\nready\nparent\nchild\n".length);
    await client().sendSignal({ process, signal: "SIGKILL" });
    const { ended, bytes } = await output;
    expect(ended?.outcome).toEqual({ case: "signaled", value: "SIGKILL" });
    expect(ended?.outOfMemory).toBe(false);
    expect(bytes.toString().split("\n").sort().join(" ")).toBe(" child parent ready ready");
    await expect(client().sendSignal({ process, signal: "SIGINT" })).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("refuses a name that is no signal", async () => {
    const seen = await read(
      (signal) => client().start(bash("echo; sleep 5"), { signal }),
      (size) => size > 0,
    );
    const process = { selector: { case: "pid", value: seen.pid } } as const;
    for (const signal of ["SIGNOPE", "", "kill", "toString", "9"]) {
      await expect(client().sendSignal({ process, signal })).rejects.toMatchObject({ code: Code.InvalidArgument });
    }
    await client().sendSignal({ process, signal: "SIGKILL" });
  });
});

describe("bounds", () => {
  it("500 processes run at once, each with its own output and end", async () => {
    const ids = Array.from({ length: 500 }, newId);
    const streams = ids.map((startId, index) =>
      read(client().start({ startId, cmd: "/bin/sh", args: ["-c", `read x; echo ${index}; exit ${index % 7}`], stdin: true })),
    );
    await expect.poll(() => daemon.daemon.processes.list().length, { timeout: 60_000 }).toBe(500);
    await Promise.all(ids.map((value) => client().sendInput({ process: { selector: { case: "startId", value } }, close: true })));
    for (const [index, { bytes, ended }] of (await Promise.all(streams)).entries()) {
      expect(bytes.toString()).toBe(`${index}\n`);
      expect(ended?.outcome).toEqual({ case: "exited", value: index % 7 });
    }
  }, 120_000);
});
