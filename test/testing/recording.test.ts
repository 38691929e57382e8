import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandExitError, type ConnectionOptions, FileNotFoundError, Sandbox, Volume } from "../../src/index.js";
import { recordTo, replayFrom } from "../../src/testing/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("recordTo and replayFrom", (platform) => {
  const { apiUrl, sandboxUrl, apiKey } = platform;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "abx-recording-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const record = async (name: string, scenario: (connection: ConnectionOptions) => Promise<unknown>) => {
    const file = path.join(directory, `${name}.json`);
    await using recording = await recordTo(file, { connection: { apiUrl, sandboxUrl, apiKey } });
    return { file, result: await scenario(recording.connection) };
  };

  /** What a program sees of files, commands, streams in both directions, terminals and errors. */
  const everything = async (connection: ConnectionOptions) => {
    await using sandbox = await Sandbox.create({ ...connection, envs: { A: "1" }, metadata: { suite: "recording" } });
    await sandbox.files.write("a/b.txt", "text ü");
    await sandbox.files.write(
      "c.bin",
      Uint8Array.from({ length: 9_000 }, (_, index) => index % 256),
    );
    await sandbox.files.write([
      { path: "one.txt", data: "1" },
      { path: "two.txt", data: "2" },
    ]);
    const pieces: string[] = [];
    const run = await sandbox.commands.run('for i in 1 2 3; do echo "line $i"; sleep 0.05; done; echo "A=$A" >&2', {
      onStdout: (text) => void pieces.push(text),
    });
    const failed = await sandbox.commands.run("exit 3").catch((error: unknown) => error);
    const missing = await sandbox.files.read("never-was").catch((error: unknown) => error);

    // What comes depends on what was sent before it.
    const cat = await sandbox.commands.start('while read -r line; do echo "got $line"; done', { stdin: true });
    const answers: string[] = [];
    const said = cat[Symbol.asyncIterator]();
    for (const word of ["first", "second"]) {
      await cat.sendStdin(`${word}\n`);
      const { value } = await said.next();
      answers.push(value?.type === "stdout" ? value.text : "?");
    }
    await cat.closeStdin();
    const left = await said.next();

    let screen = "";
    const pty = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      command: "stty size; exit 4",
      onData: (data) => {
        screen += Buffer.from(data);
      },
    });
    const terminal = await pty.waitForOutcome();

    const endless = await sandbox.commands.start("echo up; sleep 1000");
    for await (const output of endless) if (output.type === "stdout") break;
    return {
      id: sandbox.sandboxId,
      pieces: pieces.join(""),
      stderr: run.stderr,
      failed: CommandExitError.name === (failed as Error).constructor.name && (failed as CommandExitError).exitCode,
      missing: missing instanceof FileNotFoundError,
      bytes: (await sandbox.files.read("c.bin", { format: "bytes" })).length,
      names: (await sandbox.files.list(".")).map(({ name }) => name),
      answers,
      left: left.done,
      screen,
      terminal: terminal.exitCode,
      listed: (await Sandbox.list({ ...connection, query: { metadata: { suite: "recording" } } }).toArray()).length,
    };
  };

  const content = async (connection: ConnectionOptions) => {
    await using sandbox = await Sandbox.create(connection);
    const bytes = new Uint8Array([0, 255]);
    await sandbox.files.writeFiles([
      { path: "settings.json", data: '{"token":"mine"}' },
      { path: "bytes.bin", data: bytes },
    ]);
    const read = [await sandbox.files.read("settings.json"), [...(await sandbox.files.read("bytes.bin", { format: "bytes" }))]];
    const volume = await Volume.create("recorded-content", connection);
    try {
      await volume.writeFile("/settings.json", '{"token":"mine"}');
      return [...read, await volume.readFile("/settings.json")];
    } finally {
      await Volume.destroy(volume.volumeId, connection);
    }
  };

  it("gives a program from the file what it got from the platform, streams in both directions too", async () => {
    const { file, result } = await record("everything", everything);
    expect(result).toMatchObject({
      pieces: "line 1\nline 2\nline 3\n",
      stderr: "A=1\n",
      failed: 3,
      missing: true,
      answers: ["got first\n", "got second\n"],
      left: true,
      screen: "24 80\r\n",
      terminal: 4,
      listed: 1,
    });
    const startedAt = performance.now();
    await using replay = await replayFrom(file);
    expect(await everything(replay.connection)).toEqual(result);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(replay.unused).toEqual([]);
  });

  it("keeps neither the key nor the tokens of sandboxes", async () => {
    let accessToken: unknown;
    const { file } = await record("secrets", async (connection) => {
      const spy: typeof fetch = async (input, init) => {
        accessToken ??= new Headers(init?.headers).get("x-access-token");
        return (connection.fetch ?? fetch)(input, init);
      };
      await using sandbox = await Sandbox.create({ ...connection, fetch: spy });
      await sandbox.commands.run("true");
    });
    const text = await readFile(file, "utf8");
    expect(accessToken).toMatch(/\w{16}/);
    expect(text).not.toContain(accessToken);
    expect(text).not.toContain(apiKey);
  });

  it("gives files back as they were, and knows a form again whose parts are bytes", async () => {
    const { file, result } = await record("content", content);
    expect(result).toEqual(['{"token":"mine"}', [0, 255], '{"token":"mine"}']);
    await using replay = await replayFrom(file);
    expect(await content(replay.connection)).toEqual(result);
    expect(replay.unused).toEqual([]);
  });

  it("fails a changed request with the difference, and the test with it where the program passes over it", async () => {
    const { file } = await record("changed", async (connection) => {
      await using sandbox = await Sandbox.create(connection);
      await sandbox.commands.run("echo one", { envs: { A: "1" } });
    });
    const replay = await replayFrom(file);
    const sandbox = await Sandbox.create(replay.connection);
    const error: unknown = await sandbox.commands.run("echo two", { envs: { A: "1" } }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "FailedPreconditionError" });
    const { message } = error as Error;
    expect(message).toContain(`not in the recording ${file}`);
    expect(message).toMatch(/^-.*"echo one"$/m);
    expect(message).toMatch(/^\+.*"echo two"$/m);
    await expect(replay.close()).rejects.toMatchObject({ name: "FailedPreconditionError", message: expect.stringContaining("echo two") });
    expect(replay.unused.at(-1)).toMatch(/^DELETE \/sandboxes\//);
  });

  it("lets both sides take out what differs from run to run", async () => {
    const redact = (text: string) => text.replace(/moment-\d+/g, "moment");
    const file = path.join(directory, "redacted.json");
    const scenario = async (connection: ConnectionOptions, moment: number) => {
      await using sandbox = await Sandbox.create(connection);
      return (await sandbox.commands.run(`echo moment-${moment} | wc -l`)).stdout;
    };
    {
      await using recording = await recordTo(file, { connection: { apiUrl, sandboxUrl, apiKey }, redact });
      await scenario(recording.connection, 1);
    }
    await using replay = await replayFrom(file, { redact });
    expect(await scenario(replay.connection, 2)).toBe("1\n");
  });

  it("says how to make a recording that is not there, and refuses what is none", async () => {
    await expect(replayFrom(path.join(directory, "none.json"))).rejects.toMatchObject({
      name: "FileNotFoundError",
      message: expect.stringContaining("recordTo("),
    });
    await expect(replayFrom(path.join(import.meta.dirname, "../../package.json"))).rejects.toMatchObject({
      name: "FailedPreconditionError",
    });
  });

  it("replaces a token that lies across two pieces of an answer", async () => {
    const file = path.join(directory, "pieces.json");
    const fetch = async () => {
      const pieces = ['{"envdAccessToken":"se', 'cret","a":1}'].map((piece) => new TextEncoder().encode(piece));
      const body = new ReadableStream({
        pull: (controller) => {
          const piece = pieces.shift();
          if (piece === undefined) controller.close();
          else controller.enqueue(piece);
        },
      });
      return new Response(body, { headers: { "content-type": "application/json" } });
    };
    await using recording = await recordTo(file, { connection: { apiUrl: "http://platform.example", apiKey: "key", fetch } });
    const answer = await recording.connection.fetch?.("http://platform.example/sandboxes");
    expect(await answer?.text()).toContain("secret");
    await recording.close();
    expect(await readFile(file, "utf8")).not.toMatch(/"se|cret/);
  });
});
