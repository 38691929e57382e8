import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { joinPiece, type OutputCursor, type OutputKind } from "../../src/daemon/process/output-cursor.js";
import { OutputLog } from "../../src/daemon/process/output-log.js";

const CAPACITY = 4096;

function createLog(options: { capacity?: number; stallMs?: number } = {}) {
  const pressure: string[] = [];
  const log = new OutputLog({
    capacityBytes: () => options.capacity ?? CAPACITY,
    onFull: () => void pressure.push("full"),
    onSpace: () => void pressure.push("space"),
    ...(options.stallMs === undefined ? {} : { stallMs: options.stallMs }),
  });
  return { log, pressure };
}

function readAll(cursor: OutputCursor, maxBytes = 100_000): string {
  let text = "";
  for (let piece = cursor.take(maxBytes); piece !== undefined; piece = cursor.take(maxBytes)) {
    text += Buffer.from(joinPiece(piece)).toString("latin1");
  }
  return text;
}

describe("reading", () => {
  it("gives every reader exactly what was written, whatever the sizes, kinds and moments", () => {
    const write = fc.record({
      kind: fc.constantFrom<OutputKind>("stdout", "stderr"),
      size: fc.integer({ min: 0, max: 3000 }),
      read: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 40 }), (writes) => {
        const { log } = createLog();
        const cursor = log.openCursor();
        const expected: { kind: OutputKind; byte: number }[] = [];
        const seen: { kind: OutputKind; byte: number }[] = [];
        let counter = 0;
        const take = (max: number) => {
          const piece = cursor.take(max);
          if (piece === undefined) return false;
          expect(piece.offset).toBe(seen.length);
          expect(piece.sizeBytes).toBeLessThanOrEqual(max);
          for (const byte of joinPiece(piece)) seen.push({ kind: piece.kind, byte });
          return true;
        };
        const scratch = Buffer.alloc(3000);
        for (const { kind, size, read } of writes) {
          for (let index = 0; index < size; index += 1) {
            scratch[index] = counter % 251;
            expected.push({ kind, byte: counter % 251 });
            counter += 1;
          }
          log.append(kind, scratch.subarray(0, size));
          if (read !== undefined) take(read);
        }
        log.close();
        while (take(1000));
        expect(cursor.isDone).toBe(true);
        expect(seen).toEqual(expected);
        expect(log.endOffset).toBe(expected.length);
      }),
      { numRuns: 60 },
    );
  });

  it("starts a new reader at what comes next, or at an offset that is still here", () => {
    const { log } = createLog();
    log.append("stdout", Buffer.from("before "));
    const cursor = log.openCursor();
    log.append("stdout", Buffer.from("after"));
    expect(readAll(cursor)).toBe("after");
    expect(readAll(log.openCursor(3))).toBe("ore after");
    expect(readAll(log.openCursor(0))).toBe("before after");
  });

  it("shows a reader of lost bytes where the rest begins", () => {
    const { log } = createLog();
    for (let index = 0; index < 100; index += 1) log.append("stdout", Buffer.alloc(500, 97));
    expect(log.startOffset).toBeGreaterThan(0);
    expect(log.openCursor(0).take(10)?.offset).toBe(log.startOffset);
  });
});

describe("memory", () => {
  it("is bounded when nobody reads, also for tiny writes of alternating kinds", () => {
    const { log, pressure } = createLog();
    for (let index = 0; index < 20_000; index += 1) log.append(index % 2 === 0 ? "stdout" : "stderr", Buffer.from("x"));
    expect(log.heldBytes).toBeLessThanOrEqual(CAPACITY);
    expect(pressure).toEqual([]);
  });

  it("keeps what an attached reader needs and asks the writer to pause, until the reader catches up or leaves", () => {
    const { log, pressure } = createLog();
    const cursor = log.openCursor();
    while (pressure.length === 0) log.append("stdout", Buffer.alloc(1000, 98));
    expect(pressure).toEqual(["full"]);
    const written = log.endOffset;
    expect(readAll(cursor, 1000)).toHaveLength(written);
    expect(pressure).toEqual(["full", "space"]);
    while (pressure.length === 2) log.append("stdout", Buffer.alloc(1000, 98));
    cursor.close();
    expect(pressure).toEqual(["full", "space", "full", "space"]);
  });

  it("is freed by discard once no reader is left", () => {
    const { log } = createLog();
    log.append("stdout", Buffer.alloc(1000));
    log.close();
    log.discard();
    expect(log.heldBytes).toBe(0);
    expect(log.openCursor().isDone).toBe(true);
  });
});

describe("stalled readers", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("are cut with an error when others wait for them", () => {
    const { log, pressure } = createLog({ stallMs: 5_000 });
    const stalled = log.openCursor();
    const eager = log.openCursor();
    while (pressure.length === 0) {
      log.append("stdout", Buffer.alloc(1000, 99));
      readAll(eager);
    }
    vi.advanceTimersByTime(4_000);
    expect(pressure).toEqual(["full"]);
    vi.advanceTimersByTime(3_000);
    expect(pressure).toEqual(["full", "space"]);
    expect(() => stalled.take(1)).toThrow(/took no output/);
    log.append("stdout", Buffer.from("on"));
    expect(readAll(eager)).toBe("on");
  });

  it("may take all the time they want when they are alone", () => {
    const { log, pressure } = createLog({ stallMs: 5_000 });
    const alone = log.openCursor();
    while (pressure.length === 0) log.append("stdout", Buffer.alloc(1000, 99));
    vi.advanceTimersByTime(60_000);
    expect(readAll(alone)).toHaveLength(log.endOffset);
  });
});
