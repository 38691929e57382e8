import { createHash } from "node:crypto";
import type { Experimental_SandboxSession } from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSandboxSession } from "../../../src/agent/ai-sdk/open-sandbox-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 15_000 };
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describeOnPlatform("a session of the AI SDK under stress", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  let sandbox: Sandbox;
  let session: Experimental_SandboxSession;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ ...connection, timeoutMs: 300_000 });
    session = await openSandboxSession(sandbox);
  });
  afterAll(() => sandbox.kill());

  it("many processes at the same time keep their outputs apart", async () => {
    const outputs = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const command = `python3 -c "import sys; sys.stdout.write('${n},' * 200000); sys.stderr.write('e${n},' * 100000); sys.exit(${n})"`;
        const process = await session.spawn({ command });
        const [out, err, end] = await Promise.all([
          new Response(process.stdout).text(),
          new Response(process.stderr).text(),
          process.wait(),
        ]);
        return out === `${n},`.repeat(200_000) && err === `e${n},`.repeat(100_000) && end.exitCode === n;
      }),
    );
    expect(outputs).toEqual(outputs.map(() => true));
  });

  it("characters of several bytes are whole however lines and pieces cut them", async () => {
    const line = "ä€🦜".repeat(30_000);
    await session.writeTextFile({ path: "long.txt", content: `${line}\n${line}\n${line}` });
    expect(await session.readTextFile({ path: "long.txt", startLine: 2, endLine: 2 })).toBe(line);
    expect(await session.readTextFile({ path: "long.txt", startLine: 3 })).toBe(line);
    expect((await session.run({ command: "cat long.txt" })).stdout).toBe(`${line}\n${line}\n${line}`);
    await session.writeBinaryFile({ path: "cut.txt", content: Uint8Array.of(0x61, 0x0a, 0xf0, 0x9f) });
    expect(await session.readTextFile({ path: "cut.txt", startLine: 2 })).toBe("\uFFFD");
    await session.writeTextFile({ path: "wide.txt", content: `${line}\n${line}`, encoding: "utf-16le" });
    expect(await session.readTextFile({ path: "wide.txt", encoding: "utf-16le", startLine: 2 })).toBe(line);
  });

  it("files that the kernel makes up have their content", async () => {
    expect(await session.readTextFile({ path: "/proc/self/status", startLine: 1, endLine: 1 })).toMatch(/^Name:\t/);
    expect(await session.readTextFile({ path: "/proc/version" })).toMatch(/^Linux version/);
  });

  it("odd paths are refused and do no harm", async () => {
    for (const path of ["", ".", "..", "/", "./"]) {
      await expect(session.writeTextFile({ path, content: "x" }).then(() => path)).rejects.toBeDefined();
      await expect(session.deleteFile({ path })).rejects.toMatchObject({ reason: "invalid_argument" });
    }
    for (const path of [undefined, 5, null]) {
      await expect(session.readTextFile({ path: path as unknown as string })).rejects.toMatchObject({ reason: "invalid_argument" });
    }
    await expect(session.run({ command: "true", env: { "A=B": "x" } })).rejects.toMatchObject({ reason: "invalid_argument" });
    await expect(session.spawn({ command: "nul\0" })).rejects.toMatchObject({ reason: "invalid_argument" });
    expect(await session.stat({ path: "" })).toMatchObject({ type: "directory" });
  });

  it("a process that is killed, or aborted, does not leave its writer waiting", async () => {
    for (const how of ["kill", "abort"]) {
      const controller = new AbortController();
      const process = await session.spawn({ command: "exec sleep 4741", stdin: true, abortSignal: controller.signal });
      const writer = process.stdin.getWriter();
      const written = writer.write(new Uint8Array(8_000_000));
      const outcome = expect(written).rejects.toBeDefined();
      writer.closed.catch(() => undefined);
      if (how === "kill") await process.kill();
      else controller.abort(new Error("enough"));
      await outcome;
    }
    await expect.poll(async () => (await session.run({ command: "pgrep -f '[s]leep 4741'" })).exitCode, POLL).toBe(1);
  });

  it("a program that reads slowly gets all of its input", async () => {
    const process = await session.spawn({ command: "sleep 1; sha256sum", stdin: true });
    const bytes = Uint8Array.from({ length: 5_000_000 }, (_, at) => at % 251);
    const sending = new Blob([bytes]).stream().pipeTo(process.stdin);
    expect(await new Response(process.stdout).text()).toBe(`${sha256(bytes)}  -\n`);
    await sending;
  });

  it("what a process started in the background does not hold its end back", async () => {
    const process = await session.spawn({ command: "setsid sleep 4742 >/dev/null 2>&1 & echo started" });
    expect(await new Response(process.stdout).text()).toBe("started\n");
    expect(await process.wait()).toEqual({ exitCode: 0 });
    expect((await session.run({ command: "pkill -f '[s]leep 4742'" })).exitCode).toBe(0);
  });

  it("an abort while a process is being started leaves none", async () => {
    for (let round = 0; round < 20; round++) {
      const controller = new AbortController();
      const starting = session.spawn({ command: "exec sleep 4743", abortSignal: controller.signal });
      // Each round a little later, so that every step of the start is met.
      setTimeout(() => controller.abort(new Error("enough")), round);
      await expect(Promise.resolve(starting).then((process) => process.wait())).rejects.toThrow("enough");
    }
    await expect.poll(async () => (await session.run({ command: "pgrep -f '[s]leep 4743'" })).exitCode, POLL).toBe(1);
  });

  it("a sandbox that is killed while a file is on its way never looks like the end of the file", async () => {
    const other = await Sandbox.create({ ...connection, timeoutMs: 60_000 });
    const doomed = await openSandboxSession(other);
    await doomed.run({ command: "truncate -s 2G sparse.bin" });
    const stream = await doomed.readFile({ path: "sparse.bin" });
    const reader = stream?.getReader();
    await reader?.read();
    const lines = doomed.readTextFile({ path: "sparse.bin", startLine: 2 });
    const failed = expect(lines).rejects.toMatchObject({ name: expect.any(String) as string, reason: expect.any(String) as string });
    const content = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
    const writing = expect(doomed.writeFile({ path: "endless.bin", content })).rejects.toMatchObject({
      reason: expect.any(String) as string,
    });
    await other.kill();
    await Promise.all([failed, writing]);
    const drain = async () => {
      for (;;) if ((await reader?.read())?.done !== false) return;
    };
    await expect(drain()).rejects.toMatchObject({ reason: expect.any(String) as string });
  });
});
